package jsonx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Malformed is what is wrong with JSON.
type Malformed struct {
	What string // a sentence about "the arguments", without a final stop
	Byte int    // where it was found
}

func (m *Malformed) Error() string { return fmt.Sprintf("%s (byte %d)", m.What, m.Byte) }

// What is wrong, apart from the limits of Parse.
const (
	notJSON   = "the arguments are not well-formed JSON"
	badEscape = "the arguments hold an escape that JSON does not know, or half a surrogate pair"
)

// maxNested is how deep values may be nested for encoding/json, which reads messages after us.
const maxNested = 10_000

// Scanner reads JSON from its beginning, without copying and without keeping anything. Its
// methods return false where they do not find what they read; nothing can be read after that.
// Like encoding/json it continues behind text that is not UTF-8 and halves of surrogate pairs,
// but it remembers the first one.
type Scanner struct {
	in     []byte
	at     int
	depth  int
	spaced bool // there was space between values
	wrong  *Malformed
}

// Scan is a Scanner at the beginning of in.
func Scan(in []byte) *Scanner { return &Scanner{in: in} }

// At is how many bytes have been read.
func (s *Scanner) At() int { return s.at }

// Kind tells what value comes next by its first byte, 0 where nothing comes. Space before it
// is read.
func (s *Scanner) Kind() byte {
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.spaced = true
		default:
			return c
		}
	}
	return 0
}

// End reports whether nothing but space is left.
func (s *Scanner) End() bool { return s.Kind() == 0 && s.at == len(s.in) }

// note remembers what is wrong here, if it is the first thing.
func (s *Scanner) note(what string, at int) {
	if s.wrong == nil {
		s.wrong = &Malformed{what, at}
	}
}

func (s *Scanner) fail(what string) bool {
	s.note(what, s.at)
	return false
}

// Value reads a value of any kind.
func (s *Scanner) Value() bool {
	switch c := s.Kind(); {
	case c == '"':
		return s.Quoted()
	case c == '{':
		return s.Object(func([]byte) bool { return s.Value() })
	case c == '[':
		return s.List(s.Value)
	case c == '-' || isDigit(c):
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.in[s.at:], []byte(word)) {
			s.at += len(word)
			return true
		}
	}
	return s.fail(notJSON)
}

// Object reads an object. Member is called with each name, a string as it was written, and
// reads the value.
func (s *Scanner) Object(member func(name []byte) bool) bool {
	return s.nested('{', '}', func() bool {
		if s.Kind() != '"' {
			return s.fail(notJSON)
		}
		start := s.at
		if !s.Quoted() {
			return false
		}
		name := s.in[start:s.at]
		if s.Kind() != ':' {
			return s.fail(notJSON)
		}
		s.at++
		return member(name)
	})
}

// List reads a list, each value of it by item.
func (s *Scanner) List(item func() bool) bool { return s.nested('[', ']', item) }

// nested reads what is between brackets, with commas between the items.
func (s *Scanner) nested(begin, end byte, item func() bool) bool {
	if s.Kind() != begin || s.depth == maxNested {
		return s.fail(notJSON)
	}
	s.at++
	if s.Kind() == end {
		s.at++
		return true
	}
	s.depth++
	for item() {
		switch s.Kind() {
		case ',':
			s.at++
		case end:
			s.at++
			s.depth--
			return true
		default:
			return s.fail(notJSON)
		}
	}
	return false
}

// Quoted reads a string.
func (s *Scanner) Quoted() bool {
	if s.Kind() != '"' {
		return s.fail(notJSON)
	}
	start := s.at
	for s.at++; ; {
		s.at += literalRun(s.in[s.at:])
		switch {
		case s.at == len(s.in):
			return s.fail("the arguments end within a text")
		case s.in[s.at] == '"':
			s.at++
			if !utf8.Valid(s.in[start:s.at]) {
				s.note("the arguments hold text that is not UTF-8", start)
			}
			return true
		case s.in[s.at] != '\\':
			return s.fail("the arguments hold a control character that is not escaped")
		}
		r, size := escape(s.in[s.at:])
		if size == 0 {
			return s.fail(badEscape)
		}
		if utf16.IsSurrogate(r) {
			s.note(badEscape, s.at)
		}
		s.at += size
	}
}

// literalRun is how many bytes at the start of b stand for themselves in a string: up to a
// quotation mark, a backslash or a control character. It looks at eight bytes at a time.
func literalRun(b []byte) int {
	at := 0
	for ; at+8 <= len(b); at += 8 {
		if found := stops(binary.LittleEndian.Uint64(b[at:])); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(b) && b[at] >= 0x20 && b[at] != '"' && b[at] != '\\' {
		at++
	}
	return at
}

const (
	ones  = 0x0101010101010101
	marks = 0x8080808080808080
)

// stops marks the bytes of x that do not stand for themselves. The lowest mark is right; those
// above it may come from a borrow.
func stops(x uint64) uint64 {
	quotes, slashes := x^ones*'"', x^ones*'\\'
	return ((x-ones*0x20)&^x | (quotes-ones)&^quotes | (slashes-ones)&^slashes) & marks
}

// number reads a number (RFC 8259, 6): -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?.
func (s *Scanner) number() bool {
	digits := func() bool {
		start := s.at
		for s.at < len(s.in) && isDigit(s.in[s.at]) {
			s.at++
		}
		return s.at > start
	}
	next := func(any string) bool {
		found := s.at < len(s.in) && bytes.IndexByte([]byte(any), s.in[s.at]) >= 0
		if found {
			s.at++
		}
		return found
	}
	next("-")
	ok := next("0") || digits()
	if ok && next(".") {
		ok = digits()
	}
	if ok && next("eE") {
		next("+-")
		ok = digits()
	}
	return ok || s.fail("the arguments hold something that is not a number in JSON")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Skip goes over a value of any depth in one pass and judges nothing: it counts brackets and
// finds where strings end. False is for what has no end.
func (s *Scanner) Skip() bool {
	depth := 0
	for s.Kind() != 0 {
		switch c := s.in[s.at]; c {
		case '"':
			if !s.skipString() {
				return false
			}
		case '{', '[':
			s.at++
			depth++
			continue
		case '}', ']':
			s.at++
			depth--
		case ',', ':':
			if depth == 0 {
				return false
			}
			s.at++
			continue
		default:
			end := bytes.IndexAny(s.in[s.at:], "\",:{}[] \t\r\n")
			if end < 0 {
				end = len(s.in) - s.at
			}
			s.at += end
		}
		if depth <= 0 {
			return depth == 0
		}
	}
	return false
}

// skipString goes from quotation mark to quotation mark; one after an odd number of
// backslashes belongs to the string.
func (s *Scanner) skipString() bool {
	for s.at++; ; {
		next := bytes.IndexByte(s.in[s.at:], '"')
		if next < 0 {
			return false
		}
		end := s.at + next
		slashes := 0
		for s.in[end-1-slashes] == '\\' {
			slashes++
		}
		s.at = end + 1
		if slashes%2 == 0 {
			return true
		}
	}
}
