// Package quoted writes text as JSON has it between quotation marks, and reads it
// back, several bytes at a step. It knows numbers as well, the other of JSON's values
// that have a grammar of their own.
//
// It refuses to write what is not UTF-8: every byte that is part of no character
// becomes U+FFFD. It writes exactly what encoding/json does without its escapes for
// HTML, and reads only what [Valid] has looked at.
package quoted

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"
)

const hex = "0123456789abcdef"

// Append appends s with its quotation marks and escapes.
func Append(b []byte, s string) []byte {
	in := unsafe.Slice(unsafe.StringData(s), len(s))
	b = append(b, '"')
	if utf8.Valid(in) {
		b = appendValid(b, in)
	} else {
		b = appendAny(b, in)
	}
	return append(b, '"')
}

const (
	// piece is how much of a text is written or read at a step: with room for all of it
	// as escapes of letters.
	piece = 4 << 10
	// little is how much is not worth a step, where room was foreseen for more.
	little = 128
	// slack is what may be written behind a run, and more than the longest escape.
	slack = 32
)

// appendValid takes runs of bytes that stay as they are. What does not is an escape,
// or U+2028 or U+2029, which begin with E2 80.
func appendValid(b, in []byte) []byte {
	for len(in) > 0 {
		now := min(len(in), piece)
		if free := (cap(b) - len(b) - slack) / 2; free < min(now, little) {
			b = slices.Grow(b, max(2*now, len(in)+len(in)/8)+slack)
		} else {
			now = min(now, free)
		}
		read, written := escape(b[len(b):cap(b)], in[:now])
		b = b[:len(b)+written]
		if in = in[read:]; len(in) == 0 || !ends(in[0]) {
			continue
		}
		size := 1
		switch c := in[0]; {
		case c != 0xe2:
			b = appendEscape(b, c)
		case in[1] == 0x80 && in[2]&^1 == 0xa8:
			b = append(b, '\\', 'u', '2', '0', '2', hex[in[2]&0xf])
			size = 3
		default:
			b = append(b, c)
		}
		in = in[size:]
	}
	return b
}

// escape writes what in begins with to out, which has room for twice as much and slack.
func escape(out, in []byte) (read, written int) {
	if fast && len(in) >= 32 {
		read, written = escapeBlocks(&out[0], &in[0], len(in), &short)
	}
	if !fast || len(in)-read < 32 {
		n := copyRun(out[written:], in[read:])
		read, written = read+n, written+n
	}
	return read, written
}

func appendAny(b, in []byte) []byte {
	for len(in) > 0 {
		r, n := utf8.DecodeRune(in)
		if r == utf8.RuneError && n == 1 {
			b = append(b, `\ufffd`...)
		} else {
			b = appendValid(b, in[:n])
		}
		in = in[n:]
	}
	return b
}

// short are the escapes of a letter.
var short = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\t': 't', '\r': 'r', '\b': 'b', '\f': 'f'}

// appendEscape appends a byte that is ASCII and not plain.
func appendEscape(b []byte, c byte) []byte {
	if letter := short[c]; letter != 0 {
		return append(b, '\\', letter)
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}

// Eight bytes at a step: the lowest mark that any of these leaves is right, the ones
// above it may come from a borrow.
const (
	ones  = 0x0101010101010101
	marks = 0x8080808080808080
)

// stops marks what does not stand for itself: a quotation mark, a backslash, a control
// character.
func stops(x uint64) uint64 {
	quotes, slashes := x^ones*'"', x^ones*'\\'
	return ((x-ones*0x20)&^x | (quotes-ones)&^quotes | (slashes-ones)&^slashes) & marks
}

// e2s marks E2.
func e2s(x uint64) uint64 {
	e2 := x ^ ones*0xe2
	return (e2 - ones) &^ e2 & marks
}

// ends says that a run of bytes that are written as they are ends before c.
func ends(c byte) bool { return c < 0x20 || c == '"' || c == '\\' || c == 0xe2 }

// copyRun copies to out the run that in begins with, and says how long it is. Out has
// room for all of in and slack, of which anything may be written to.
func copyRun(out, in []byte) int {
	at := 0
	for ; at+8 <= len(in); at += 8 {
		x := binary.LittleEndian.Uint64(in[at:])
		binary.LittleEndian.PutUint64(out[at:], x)
		if found := stops(x) | e2s(x); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(in) && !ends(in[at]) {
		out[at] = in[at]
		at++
	}
	return at
}

// Plain is how many bytes at the start of b stand for themselves within quotation
// marks: up to one of these, a backslash or a control character.
func Plain(b []byte) int {
	at := 0
	for ; at+8 <= len(b); at += 8 {
		x := binary.LittleEndian.Uint64(b[at:])
		if found := stops(x); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(b) && (!ends(b[at]) || b[at] == 0xe2) {
		at++
	}
	return at
}
