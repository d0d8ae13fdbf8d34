package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The lines that are read far inside the log.
const (
	farLine  = 900_000
	farCount = 101
)

// readingFar reads lines far inside the log, for the first time in a new server and
// again in one that read them before.
func readingFar(w *world) ([]measurement, error) {
	log, err := w.logFile()
	if err != nil {
		return nil, err
	}
	far, err := locate(log, farLine, farCount)
	if err != nil {
		return nil, err
	}
	near, err := w.file("near.txt", far.text)
	if err != nil {
		return nil, err
	}
	argv := w.fileRead(treeOf(log), "--allow-path", w.dir)
	first, _, _ := bytes.Cut(far.text, []byte("\n"))
	r := toolCall("file_read", map[string]any{"path": log, "offset": farLine, "limit": farCount})
	whole := toolCall("file_read", map[string]any{"path": near})
	ask := func(c *client, r request) (sample, error) {
		answer, took, err := c.call(r)
		if err == nil && !bytes.Contains(answer, first) {
			err = errors.New("other lines were answered")
		}
		return sample{value: ms(took)}, err
	}
	kept, err := w.serve(argv...)
	if err != nil {
		return nil, err
	}
	if _, err := ask(kept, r); err != nil {
		return nil, err
	}
	fresh := side{"file-read", func(int) (sample, error) {
		c, err := w.start(argv...)
		if err != nil {
			return sample{}, err
		}
		defer w.end(c)
		if _, err := ask(c, whole); err != nil {
			return sample{}, err
		}
		return ask(c, r)
	}}
	again := side{"file-read", func(int) (sample, error) { return ask(kept, r) }}
	small := side{"a file of these lines, read whole", func(int) (sample, error) { return ask(kept, whole) }}
	pread := side{"pread of 256 KB up to there", func(int) (sample, error) {
		began := time.Now()
		err := far.readUpTo(log)
		return sample{value: ms(time.Since(began))}, err
	}}
	return []measurement{
		{name: "the first time, in a new server", unit: "ms", warm: 1, sides: []side{fresh, pread},
			goals: []goal{{word: pread.name, of: []string{pread.name}, most: 1.5}}},
		{name: "again, in the same server", unit: "ms", warm: 20, samples: w.calls / 4, sides: []side{again, small},
			goals: []goal{{word: "more than " + small.name, minus: small.name, most: 0.1}}},
	}, nil
}

// stretch is a number of lines and where they end.
type stretch struct {
	text []byte
	end  int64
}

func locate(path string, line, count int) (stretch, error) {
	f, err := os.Open(path)
	if err != nil {
		return stretch{}, err
	}
	defer f.Close()
	var s stretch
	lines := bufio.NewReaderSize(f, 1<<20)
	for n := 1; n < line+count; n++ {
		l, err := lines.ReadSlice('\n')
		if err != nil {
			return s, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		s.end += int64(len(l))
		if n >= line {
			s.text = append(s.text, l...)
		}
	}
	return s, nil
}

// readUpTo reads a file as far as the stretch goes and does nothing with it.
func (s stretch) readUpTo(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for at := int64(0); at < s.end; {
		n, err := f.ReadAt(buf, at)
		at += int64(n)
		if err != nil && (err != io.EOF || at < s.end) {
			return err
		}
	}
	return nil
}
