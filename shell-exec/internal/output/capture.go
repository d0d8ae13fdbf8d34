package output

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// What max_output_size may be: bytes of one stream in an answer.
const (
	MinCapture     = 1 << 10
	MaxCapture     = 100 << 20
	DefaultCapture = 1 << 20
)

// Capture keeps the beginning and the end of what is written to it, half of its budget each. Its methods may be called
// from several goroutines; memory grows with what is written, to the budget.
type Capture struct {
	mu    sync.Mutex
	first blocks
	last  ring
	total int64
}

// NewCapture makes a Capture for so many bytes; a budget out of range is fault.ParamInvalid.
func NewCapture(budget int) (*Capture, error) {
	if budget < MinCapture || budget > MaxCapture {
		return nil, fault.New(fault.ParamInvalid, fmt.Sprintf("an output size of %d bytes is out of range", budget),
			fmt.Sprintf("Use %d to %d bytes", MinCapture, MaxCapture)).With("minimum", MinCapture).With("maximum", MaxCapture)
	}
	half := budget / 2
	return &Capture{first: blocks{limit: half}, last: ring{limit: budget - half}}, nil
}

// Write never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(p))
	c.last.add(c.first.add(p))
	return len(p), nil
}

// Parts is what was captured so far, cut on the borders of characters. The slices are the caller's.
func (c *Capture) Parts() Parts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(c.first.size+len(c.last.buf)) == c.total {
		all := c.first.appendTo(make([]byte, 0, c.total))
		return Parts{Head: c.last.appendTo(all), Total: c.total}
	}
	first, last := c.first.appendTo(make([]byte, 0, c.first.size)), c.last.bytes()
	first = first[:len(first)-unfinished(first)]
	last = last[continued(last):]
	return Parts{Head: first, Tail: last, Omitted: c.total - int64(len(first)+len(last)), Total: c.total}
}

// Parts are the beginning and the end of an output, and how many bytes are missing between them.
type Parts struct {
	Head    []byte // everything, where nothing is missing
	Tail    []byte
	Omitted int64
	Total   int64 // Head, Omitted and Tail
}

// Text is both parts as a terminal would show them, with a line between that says how many bytes were left out.
func (p Parts) Text() string {
	head := screen.Render(p.Head)
	if p.Omitted == 0 {
		return head
	}
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return fmt.Sprintf("%s[… %d bytes left out …]\n%s", head, p.Omitted, screen.Render(p.Tail))
}

const newestBytes = 8 << 10

// Newest shows the newest lines of what is written to it, for progress. It looks at the last 8 KiB only, so that they
// depend neither on how the writing was cut nor on how much came before. The zero Newest is ready for use.
type Newest struct {
	mu    sync.Mutex
	last  ring
	total int64
}

// Write never fails.
func (w *Newest) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last.limit = newestBytes
	w.last.add(p)
	w.total += int64(len(p))
	return len(p), nil
}

// Lines is the newest lines that are not blank, at most n, the newest last, as a terminal would show them.
func (w *Newest) Lines(n int) []string {
	var found []string
	for line := range strings.Lines(screen.Render(w.tail())) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			found = append(found, line)
		}
	}
	return found[max(len(found)-n, 0):]
}

// tail begins with a whole line, if one begins in it at all.
func (w *Newest) tail() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.last.bytes()
	if int64(len(b)) == w.total {
		return b
	}
	if i := bytes.IndexAny(b[:len(b)-1], "\r\n"); i >= 0 {
		return b[i+1:]
	}
	return b[continued(b):]
}

// blocks are the first bytes of a stream. What is there is not moved when more comes.
type blocks struct {
	all   [][]byte
	size  int
	limit int
}

const blockSize = 64 << 10

// add takes what there is room for, and returns the rest.
func (b *blocks) add(p []byte) []byte {
	for len(p) > 0 && b.size < b.limit {
		switch n := len(b.all); {
		case n == 0: // grows, since most outputs are short
			b.all = append(b.all, nil)
		case len(b.all[n-1]) >= blockSize:
			b.all = append(b.all, make([]byte, 0, min(blockSize, b.limit-b.size)))
		}
		last := &b.all[len(b.all)-1]
		n := min(len(p), blockSize-len(*last), b.limit-b.size)
		*last = append(*last, p[:n]...)
		b.size += n
		p = p[n:]
	}
	return p
}

func (b *blocks) appendTo(out []byte) []byte {
	for _, block := range b.all {
		out = append(out, block...)
	}
	return out
}

// ring is the last bytes of a stream.
type ring struct {
	buf   []byte
	limit int
	at    int // where the oldest byte is, once buf is full
}

func (r *ring) add(p []byte) {
	if len(p) >= r.limit {
		r.buf, r.at = append(r.buf[:0], p[len(p)-r.limit:]...), 0
		return
	}
	n := min(r.limit-len(r.buf), len(p))
	r.buf = append(r.buf, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(r.buf[r.at:], p)
		r.at = (r.at + n) % r.limit
	}
}

func (r *ring) bytes() []byte {
	return r.appendTo(make([]byte, 0, len(r.buf)))
}

func (r *ring) appendTo(out []byte) []byte {
	return append(append(out, r.buf[r.at:]...), r.buf[:r.at]...)
}

// unfinished is how many bytes at the end of b are the beginning of a character.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRune(c) {
				return 0
			}
			return n
		}
	}
	return 0
}

// continued is how many bytes at the beginning of b can belong to a character that began before.
func continued(b []byte) int {
	for n := range min(utf8.UTFMax-1, len(b)) {
		if utf8.RuneStart(b[n]) {
			return n
		}
	}
	return min(utf8.UTFMax-1, len(b))
}
