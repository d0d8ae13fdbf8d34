package quoted

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Wrong is what keeps a text from being read.
type Wrong int

// What is wrong with a text. The zero Wrong is nothing.
const (
	_         Wrong = iota
	Unended         // the input ends within it
	Control         // it holds a control character that is not escaped
	BadEscape       // it holds an escape that JSON does not know, or half a surrogate pair
	NotUTF8
)

// Valid looks at the text that begins with the quotation mark at the start of b: size
// is what it takes there, with both marks. Where it is wrong, size leads to the place.
func Valid(b []byte) (size int, wrong Wrong) {
	for at := 1; ; {
		if fast && len(b)-at > 32 {
			at += validBlocks(&b[at], len(b)-at, &letters)
		}
		at += Plain(b[at:])
		switch {
		case at == len(b):
			return at, Unended
		case b[at] == '"':
			if at++; !utf8.Valid(b[:at]) {
				return 0, NotUTF8
			}
			return at, 0
		case b[at] != '\\':
			return at, Control
		}
		n := escapeSize(b[at:])
		if n == 0 {
			return at, BadEscape
		}
		at += n
	}
}

// escapeSize is how many bytes the escape at the start of b takes; 0: it is none.
func escapeSize(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		_, n := unicodeEscape(b)
		return n
	}
	return 0
}

// unicodeEscape reads \uXXXX, or the two of a surrogate pair; size 0 is neither.
func unicodeEscape(b []byte) (r rune, size int) {
	first, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	second, ok := hex4(b[6:])
	if r := utf16.DecodeRune(first, second); ok && r != utf8.RuneError {
		return r, 12
	}
	return 0, 0
}

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

// Text decodes what Valid has found nothing wrong with, quotation marks included.
func Text(raw []byte) string {
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	out := make([]byte, 0, len(body)+slack) // no escape is shorter than what it stands for
	for len(body) > 0 {
		out, body = appendText(out, body, len(body))
	}
	return unsafe.String(unsafe.SliceData(out), len(out)) // nobody else has out
}

// Pieces yields the text that Text decodes, for those who need not hold it, in pieces
// that are good until the next one.
func Pieces(raw []byte, yield func([]byte)) {
	out := make([]byte, 0, 8*piece+slack)
	for body := raw[1 : len(raw)-1]; len(body) > 0; {
		out, body = appendText(out, body, 8*piece-utf8.UTFMax-len(out))
		if len(body) == 0 || len(out) > 7*piece {
			yield(out)
			out = out[:0]
		}
	}
}

// appendText decodes what b begins with: a run of most bytes at most, and the escape
// that ends it. Out has room for the run, a character and slack.
func appendText(out, b []byte, most int) (_, rest []byte) {
	now := b[:min(len(b), most)]
	if fast && len(now) > 32 {
		read, written := unescapeBlocks(&out[len(out):cap(out)][0], &now[0], len(now), &letters)
		out, now = out[:len(out)+written], now[read:]
		b = b[read:]
	}
	n := copyRun(out[len(out):cap(out)], now)
	out = out[:len(out)+n]
	switch b = b[n:]; {
	case n == len(now):
		return out, b
	case b[0] == '\\':
		return appendUnescaped(out, b)
	}
	return append(out, b[0]), b[1:]
}

// letters are what the escapes of a letter stand for.
var letters = [256]byte{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// appendUnescaped decodes the escape that b begins with; the rest is what follows it.
func appendUnescaped(out, b []byte) (_, rest []byte) {
	if c := letters[b[1]]; c != 0 {
		return append(out, c), b[2:]
	}
	r, n := unicodeEscape(b)
	return utf8.AppendRune(out, r), b[n:]
}
