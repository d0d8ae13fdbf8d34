package audit

import (
	"bufio"
	"bytes"
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
			text, err := in.ReadSlice('\n')
			line := rawLine{text: text, size: int64(len(text)), whole: err == nil}
			if err == nil {
				line.text = text[:len(text)-1]
			}
			if errors.Is(err, bufio.ErrBufferFull) { // the rest of it is not kept
				line.text = bytes.Clone(text)
				for errors.Is(err, bufio.ErrBufferFull) {
					text, err = in.ReadSlice('\n')
					line.size += int64(len(text))
				}
				line.whole = err == nil
			}
			if line.size > 0 && !yield(line, nil) {
				return
			}
			if err != nil {
				if err != io.EOF {
					yield(rawLine{}, err)
				}
				return
			}
		}
	}
}
