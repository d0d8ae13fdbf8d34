package audit

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// rawLine is a line as it stands in a file. text is valid until the next one.
type rawLine struct {
	text  []byte // without its newline; of a line over MaxLine only the beginning
	size  int64  // in the file, in bytes, newline included
	whole bool   // it ends in a newline
}

// lines splits r. Memory is bounded whatever r holds.
func lines(r io.Reader) iter.Seq2[rawLine, error] {
	return func(yield func(rawLine, error) bool) {
		in := bufio.NewReaderSize(r, MaxLine)
		for {
			line, err := nextLine(in)
			if line.size > 0 && !yield(line, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(rawLine{}, err)
				return
			}
		}
	}
}

func nextLine(in *bufio.Reader) (rawLine, error) {
	text, err := in.ReadSlice('\n')
	line := rawLine{text: text, size: int64(len(text))}
	if errors.Is(err, bufio.ErrBufferFull) {
		line.text = append([]byte(nil), text...)
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = in.ReadSlice('\n')
		line.size += int64(len(text))
	}
	if err == nil {
		line.whole = true
		if line.size == int64(len(line.text)) {
			line.text = line.text[:len(line.text)-1]
		}
	}
	return line, err
}
