package match

import (
	"bytes"
	"io"
	"sync"
)

const (
	overlap  = 64 << 10          // of the windows on a line over MaxLine
	lineRoom = MaxLine + overlap // the largest buffer of a search by lines
	spanRoom = MaxSpan + 256<<10 // the largest buffer where matches span lines
)

// stream cuts a reader into blocks of whole lines. Its buffer holds what is
// read and not yet used up; it grows only where a line does not fit.
//
// It takes the carriage return out of every CRLF, unless keepCR, so that all
// that comes later sees lines that end in a line feed.
type stream struct {
	r      io.Reader
	buf    []byte
	n      int // bytes of buf that are filled
	used   int // of them, bytes of blocks already given
	block  int // what buf grows to first
	room   int // what it may grow to
	keepCR bool
	eof    bool
	nul    bool // a NUL was found: the stream ends before the line it is in
}

// Buffers are what searches that have ended leave to those that come, of whatever
// pattern: to touch memory for the first time costs more than to search it. The zero
// value has none yet.
type Buffers struct {
	idle sync.Pool // of *stream
}

// take is a stream with a buffer of at least size.
func (b *Buffers) take(size int) *stream {
	s, ok := b.idle.Get().(*stream)
	if !ok || len(s.buf) < size {
		s = &stream{buf: make([]byte, size)}
	}
	return s
}

// next is the next block of whole lines, the last without its line feed if the
// stream ends so; or, with whole false, as much of a line as fits in the buffer.
// An empty block is the end. A block is valid until the next call.
func (s *stream) next() (block []byte, whole bool, err error) {
	s.n = copy(s.buf, s.buf[s.used:s.n]) // what is not used up
	s.used = 0
	end := bytes.LastIndexByte(s.buf[:s.n], '\n') + 1
	for end == 0 && !s.eof {
		if s.n == len(s.buf) && !s.grow() {
			s.used = s.n
			return s.buf[:s.n], false, nil
		}
		had := s.n
		if err := s.fill(); err != nil {
			return nil, false, err
		}
		if i := bytes.LastIndexByte(s.buf[min(had, s.n):s.n], '\n'); i >= 0 { // a NUL may have taken bytes back
			end = had + i + 1
		}
	}
	if s.eof {
		end = s.n
	}
	s.used = end
	return s.buf[:end], true, nil
}

// grow makes the buffer larger, up to room, and says whether it did.
func (s *stream) grow() bool {
	size := min(max(s.block, 2*len(s.buf)), s.room)
	if size <= len(s.buf) {
		return false
	}
	bigger := make([]byte, size)
	copy(bigger, s.buf[:s.n])
	s.buf = bigger
	return true
}

// fill reads once.
func (s *stream) fill() error {
	n, err := s.r.Read(s.buf[s.n:])
	if err != nil && err != io.EOF {
		return err
	}
	s.eof = err == io.EOF
	s.accept(n, traitsOf(s.buf[s.n:s.n+n]))
	return nil
}

// accept takes in n bytes that were read behind those that are there. Their traits are
// among found.
func (s *stream) accept(n int, found traits) {
	had := s.n
	s.n += n
	if found&hasNUL != 0 {
		if i := bytes.IndexByte(s.buf[had:s.n], 0); i >= 0 {
			s.nul, s.eof = true, true
			s.n = bytes.LastIndexByte(s.buf[:had+i], '\n') + 1
		}
	}
	if !s.keepCR && (found&hasCR != 0 || had > 0 && s.buf[had-1] == '\r') {
		from := min(s.n, max(0, had-1)) // the carriage return may have come before
		s.n = from + dropCR(s.buf[from:s.n])
	}
}

// dropCR turns CRLF into LF in place and gives the new length.
func dropCR(b []byte) int {
	to := bytes.Index(b, crlf)
	if to < 0 {
		return len(b)
	}
	for rest := b[to+1:]; ; {
		i := bytes.Index(rest, crlf)
		if i < 0 {
			return to + copy(b[to:], rest)
		}
		to += copy(b[to:], rest[:i])
		rest = rest[i+1:]
	}
}

var crlf = []byte("\r\n")
