package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// The names of those that stand beside ours.
const (
	loopName      = "mcp-go's loop"
	referenceName = "server-filesystem"
)

// reader is a server that reads files.
type reader struct {
	name string
	argv []string
	tool string
}

// readers are ours, one on mcp-go's own loop, and the reference server.
func (w *world) readers() []reader {
	all := []reader{
		{"file-read", w.fileRead(w.dir, "--max-read-bytes", "2MiB"), "file_read"},
		{loopName, []string{w.loop}, "file_read"},
	}
	if argv := w.reference(); argv != nil {
		all = append(all, reader{referenceName, argv, "read_text_file"})
	}
	return all
}

// reading measures file_read, one call after the other and 16 at once.
func reading(w *world) ([]measurement, error) {
	var all []measurement
	for _, f := range []struct {
		name        string
		size, calls int
		ofLoop      float64
	}{{"1 KB", 1 << 10, w.calls, 0.4}, {"1 MB", 1 << 20, max(w.calls/20, 5), 0.1}} {
		path, err := w.file(f.name+".txt", prose(f.size))
		if err != nil {
			return nil, err
		}
		goals := []goal{{word: loopName, of: []string{loopName}, most: f.ofLoop}, {word: referenceName, of: []string{referenceName}, most: 0.1}}
		single := measurement{name: f.name + ", one call after the other", unit: "ms", warm: f.calls / 10, samples: f.calls, goals: goals}
		many := measurement{name: f.name + ", 16 at once, time by call", unit: "ms", warm: 1}
		for _, r := range w.readers() {
			one, err := w.serve(r.argv...)
			if err != nil {
				return nil, err
			}
			crowd, err := w.serve(r.argv...)
			if err != nil {
				return nil, err
			}
			crowd.concurrent()
			call := toolCall(r.tool, map[string]any{"path": path})
			single.sides = append(single.sides, side{r.name, func(int) (sample, error) {
				answer, took, err := one.call(call)
				if err == nil && len(answer) < f.size {
					err = fmt.Errorf("%d bytes were answered", len(answer))
				}
				return sample{value: ms(took)}, err
			}})
			batch := max(f.calls/4, 16)
			many.sides = append(many.sides, side{r.name, func(int) (sample, error) {
				began := time.Now()
				err := atOnce(16, batch, func() error {
					_, _, err := crowd.call(slices.Clone(call))
					return err
				})
				return sample{value: ms(time.Since(began)) / float64(batch)}, err
			}})
		}
		for _, g := range goals {
			many.goals = append(many.goals, goal{word: g.word, of: g.of})
		}
		all = append(all, single, many)
	}
	return all, nil
}

// atOnce does something so many times, with so many at work; the first error ends it.
func atOnce(workers, times int, do func() error) error {
	var wg sync.WaitGroup
	jobs, errs := make(chan struct{}), make(chan error, workers)
	for range workers {
		wg.Go(func() {
			for range jobs {
				if err := do(); err != nil {
					errs <- err
					break
				}
			}
			for range jobs { // the others' work is taken, not done
			}
		})
	}
	for range times {
		jobs <- struct{}{}
	}
	close(jobs)
	wg.Wait()
	close(errs)
	return <-errs
}

const messageBytes = 50_000_000

// messages measures one message of 50 MB: a file_write whose content is all of it.
func messages(w *world) ([]measurement, error) {
	content := string(prose(messageBytes - 2*len(cyrillic)))
	content = cyrillic + content + cyrillic
	path := filepath.Join(w.dir, "message.txt")
	ours := toolCall("file_write", map[string]any{"path": path, "content": content, "overwrite": true})
	loop := toolCall("file_write", map[string]any{"path": path + ".loop", "content": content})
	whole := func(argv []string, r request) (*client, func(int) (sample, error), error) {
		c, err := w.serve(argv...)
		return c, func(int) (sample, error) {
			_, took, err := c.call(r)
			return sample{value: ms(took)}, err
		}, err
	}
	argv := w.fileWrite("--history", "off")
	_, write, err := whole(argv, ours)
	if err != nil {
		return nil, err
	}
	_, writeLoop, err := whole([]string{w.loop}, loop)
	if err != nil {
		return nil, err
	}
	peak := func(argv []string, r request) func(int) (sample, error) {
		return func(int) (sample, error) {
			c, err := w.start(argv...)
			if err != nil {
				return sample{}, err
			}
			defer w.end(c)
			_, _, err = c.call(bytes.Clone(r))
			return sample{value: c.memory("VmHWM")}, err
		}
	}
	return []measurement{
		{name: "time", unit: "ms", warm: 1, sides: []side{{"file-write", write}, {loopName, writeLoop}},
			goals: []goal{{word: loopName, of: []string{loopName}, most: 0.1}}},
		{name: "peak resident memory", unit: "MB", samples: 1, sides: []side{{"file-write", peak(argv, ours)}, {loopName, peak([]string{w.loop}, loop)}},
			goals: []goal{{most: 6 * messageBytes / 1e6}}},
	}, nil
}

const cyrillic = "строка \"в кавычках\"\tи табуляция\n"

// starting measures from the start of a program to its answer of initialize.
func starting(w *world) ([]measurement, error) {
	loop := contestant{loopName, []string{w.loop}}
	all := []measurement{}
	for _, ours := range []contestant{
		{"file-read", w.fileRead(w.dir)}, {"file-write", w.fileWrite()}, {"shell-exec", w.shellExec()},
	} {
		line := []contestant{{"ours", ours.argv}, loop}
		if argv := w.reference(); argv != nil {
			line = append(line, contestant{referenceName, argv})
		}
		if ours.name == "shell-exec" {
			for _, p := range w.runPeers() {
				line = append(line, contestant{p.name, p.argv})
			}
		}
		m := measurement{name: ours.name, unit: "ms", warm: 1, goals: []goal{
			{word: referenceName, of: []string{referenceName}, most: 0.05}, {most: 10},
		}}
		for _, c := range line {
			m.sides = append(m.sides, side{c.name, func(int) (sample, error) {
				began := time.Now()
				cl, err := w.start(c.argv...)
				took := time.Since(began)
				if err == nil {
					w.end(cl)
				}
				return sample{value: ms(took)}, err
			}})
		}
		all = append(all, m)
	}
	return all, nil
}

// contestant is a server that is only started.
type contestant struct {
	name string
	argv []string
}
