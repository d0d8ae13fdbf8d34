// Package jsonx reads and writes JSON where encoding/json would do too little or too much:
// it reads a message once, in place, as strictly as a server must that checks what another
// program is to do, and it appends to memory that is used again.
//
// It refuses what readers understand differently: [Parse] takes no text that is not UTF-8, no
// half of a surrogate pair, nothing nested deep and no endless list. It writes what
// encoding/json writes without escapes for HTML, so that no reader can tell the two apart.
//
// It is not built on github.com/go-json-experiment/json/jsontext: that stops at a mistake which
// the audit log reads past, its errors do not separate the mistakes that answers name, and it
// writes U+2028 and bytes that are not UTF-8 differently, so most of this package would remain.
//
// JSON: RFC 8259, and RFC 7493 (I-JSON) where that is narrower.
package jsonx

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is the text of a string that a [Scanner] has read, quotation marks included. What is
// not UTF-8, or half of a surrogate pair, becomes U+FFFD.
func Text(raw []byte) string {
	body := raw[1 : len(raw)-1]
	if text, ok := unescape(body); ok {
		return text
	}
	var out strings.Builder
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\\')
		if end < 0 {
			end = len(body)
		}
		for _, r := range string(body[:end]) { // each byte that is no character is one U+FFFD
			out.WriteRune(r)
		}
		if body = body[end:]; len(body) > 0 {
			r, size := escape(body)
			out.WriteRune(r) // half of a pair is written as U+FFFD
			body = body[size:]
		}
	}
	return out.String()
}

// unescape is the text between the quotation marks of a string. It is not ok where there is
// anything that a string of I-JSON does not hold.
func unescape(body []byte) (text string, ok bool) {
	run := literalRun(body)
	if run == len(body) {
		return string(body), utf8.Valid(body)
	}
	var out strings.Builder
	out.Grow(len(body)) // no escape is shorter than what it stands for
	for {
		out.Write(body[:run])
		if body = body[run:]; len(body) == 0 {
			return out.String(), utf8.ValidString(out.String())
		}
		r, size := escape(body)
		if size == 0 || utf16.IsSurrogate(r) {
			return "", false
		}
		out.WriteRune(r)
		body = body[size:]
		run = literalRun(body)
	}
}

// escape reads the escape that b begins with; size 0 is none. Half of a surrogate pair is
// returned as it is.
func escape(b []byte) (r rune, size int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	switch c := b[1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	first, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if second, ok := hex4(b[6:]); ok && utf16.IsSurrogate(first) {
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return first, 6
}

// hex4 reads \uXXXX.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
