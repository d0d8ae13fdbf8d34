package main

import (
	"io"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/glob"
)

// Limits of one answer that no flag changes.
const (
	wholeFileMax = 100 << 20 // bytes a file may have to be read without a line range
	mediaMax     = 5 << 20   // bytes of an image or another binary in one answer
	headBytes    = 64 << 10  // bytes looked at to distinguish text from binary
	cheapBytes   = 8 << 20   // bytes a file may have to be counted line by line for its description
)

// reader is what every operation of this server works on: directories that can
// be read, and how much of them one answer may contain.
type reader struct {
	scope    *confine.Scope
	maxBytes int // bytes of content in one answer
	indexing *indexing
	media    []string // MIME types of binaries that may be read: "image/png", "image/*", "*/*"

	places  *lines.LineIndex // where lines are in large files; nil: not remembered
	buffers *match.Buffers   // of searches; nil: each call has its own
}

// file is what reading needs of an open file.
type file interface {
	io.Reader
	io.ReaderAt
}

// readHead reads a file of at most so many bytes, as long as it was when it was opened, or
// of a larger one what detection needs. It reports whether that is the whole file, whatever
// its size is said to be: a file of /proc has none.
func readHead(f io.ReaderAt, size int64, maxWhole int) (head []byte, whole bool, err error) {
	whole = size > 0 && size <= int64(maxWhole)
	room := size
	if !whole {
		room = min(max(size, 4095)+1, headBytes)
	}
	head = make([]byte, room)
	n, err := f.ReadAt(head, 0)
	if err == io.EOF {
		return head[:n], true, nil
	}
	return head[:n], whole, err
}

func compileGlobs(patterns []string) ([]glob.Pattern, error) {
	var out []glob.Pattern
	for _, s := range patterns {
		p, err := glob.Compile(s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
