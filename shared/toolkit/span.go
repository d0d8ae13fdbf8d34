package toolkit

import (
	"bytes"
	"encoding/json"
)

// span is a part of a message, from its first byte up to but without to.
type span struct{ from, to int }

func (s span) empty() bool                            { return s.to <= s.from }
func (s span) of(raw json.RawMessage) json.RawMessage { return raw[s.from:s.to] }

// once is the span of a member that must stand only once; a second one makes it
// empty, and every further one leaves it so.
func (s span) once(before span) span {
	if before != (span{}) {
		return span{-1, -1}
	}
	return s
}

// each calls visit for the members of the object in a part of raw. It finds
// where values end and judges nothing: what is malformed ends the walk, and
// whoever decodes the message refuses it.
func each(raw json.RawMessage, in span, visit func(key string, value span)) {
	if in.empty() {
		return
	}
	at := blank(raw, in.from)
	if at >= in.to || raw[at] != '{' {
		return
	}
	for at = blank(raw, at+1); at < in.to && raw[at] == '"'; at = blank(raw, at+1) {
		key := span{at, valueEnd(raw, at)}
		colon := blank(raw, key.to)
		if colon >= in.to || raw[colon] != ':' {
			return
		}
		value := span{from: blank(raw, colon+1)}
		value.to = valueEnd(raw, value.from)
		if value.empty() {
			return
		}
		visit(string(raw[key.from+1:key.to-1]), value)
		if at = blank(raw, value.to); at >= in.to || raw[at] != ',' {
			return
		}
	}
}

func blank(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\r' || raw[at] == '\n') {
		at++
	}
	return at
}

// valueEnd is where the value at hand ends; for what is no value, where it starts.
func valueEnd(raw []byte, at int) int {
	if at >= len(raw) {
		return at
	}
	switch raw[at] {
	case '"':
		return textEnd(raw, at)
	case '{', '[':
		return nestedEnd(raw, at)
	}
	for at < len(raw) && !bytes.ContainsRune([]byte(",:]} \t\r\n"), rune(raw[at])) {
		at++
	}
	return at
}

// textEnd goes from quotation mark to quotation mark; one after an odd number
// of backslashes belongs to the text.
func textEnd(raw []byte, start int) int {
	for at := start + 1; ; {
		next := bytes.IndexByte(raw[at:], '"')
		if next < 0 {
			return len(raw)
		}
		end := at + next
		slashes := 0
		for raw[end-1-slashes] == '\\' {
			slashes++
		}
		at = end + 1
		if slashes%2 == 0 {
			return at
		}
	}
}

// nestedEnd counts brackets instead of recursing: a message nests as deep as it
// likes.
func nestedEnd(raw []byte, at int) int {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			at = textEnd(raw, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
	return at
}
