package edit

import (
	"bytes"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
)

// insertion is the text an edit puts in, as bytes fit for each match.
type insertion struct {
	page   page
	text   string // with LF where the line endings are still to be chosen
	chosen bool   // the line endings are the same everywhere
	next   int    // in page.text: the first LF after a match; len if none
	final  string // the last line ending of the file, once asked

	last    string // the text encoded last
	encoded []byte
	encodes bool // whether there is one
}

func newInsertion(p page, with string) *insertion {
	w := &insertion{page: p, text: with, chosen: true, next: -1}
	switch p.ending {
	case text.LF:
		w.text = p.withLF(with)
	case text.CRLF:
		w.text = strings.ReplaceAll(p.withLF(with), "\n", "\r\n")
	case text.CR:
		w.text = strings.ReplaceAll(p.withLF(with), "\n", "\r")
	case text.Mixed:
		w.text = p.withLF(with)
		w.chosen = !strings.Contains(w.text, "\n")
	}
	return w
}

// at returns the bytes to put in at a match. The slice is valid until the next call.
func (w *insertion) at(m match) ([]byte, error) {
	s := w.text
	if !w.chosen {
		s = w.endedAs(m)
	}
	if !w.encodes || s != w.last {
		b, err := w.page.enc.Encode(s, false)
		if err != nil {
			return nil, err
		}
		w.last, w.encoded, w.encodes = s, b, true
	}
	if w.page.enc.Name() == "iso-2022-jp" {
		return shifted(m.before, m.after, w.encoded), nil
	}
	return w.encoded, nil
}

// endedAs gives the lines put in the line endings of those they replace, one by
// one, and further ones the last of these, or that of the place.
func (w *insertion) endedAs(m match) string {
	var b strings.Builder
	replaced, end := w.page.text[m.from:m.to], ""
	for i, line := range strings.Split(w.text, "\n") {
		if i > 0 {
			if i := strings.IndexByte(replaced, '\n'); i >= 0 {
				end, replaced = endAt(replaced, i), replaced[i+1:]
			} else {
				replaced = ""
			}
			if end == "" {
				end = w.around(m)
			}
			b.WriteString(end)
		}
		b.WriteString(line)
	}
	return b.String()
}

// around returns the ending of the line that a match is in, or of the line before where it
// is the last. Only files of mixed line endings are asked, and those have an LF.
func (w *insertion) around(m match) string {
	all := w.page.text
	if w.next < m.to {
		w.next = len(all)
		if i := strings.IndexByte(all[m.to:], '\n'); i >= 0 {
			w.next = m.to + i
		}
	}
	if w.next < len(all) {
		return endAt(all, w.next)
	}
	if w.final == "" {
		w.final = endAt(all, strings.LastIndexByte(all, '\n'))
	}
	return w.final
}

// endAt is the line ending whose LF is at i.
func endAt(s string, i int) string {
	if i > 0 && s[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// ascii is the escape sequence that ISO-2022-JP begins and ends with.
const ascii = "\x1b(B"

// shifted fits a piece of ISO-2022-JP, complete in itself, between two places
// with other escape sequences in force (RFC 1468): it begins in the state before,
// ends in the state after it, and repeats no sequence that is in force already. So
// the bytes after it keep their meaning without being changed.
func shifted(before, after string, piece []byte) []byte {
	var out []byte
	state := before
	switch {
	case state != "" && bytes.HasPrefix(piece, []byte(state)):
		piece = piece[len(state):]
	case len(piece) > 0 && piece[0] != 0x1b && !isASCII(state):
		out, state = append(out, ascii...), ascii
	}
	out = append(out, piece...)
	if i := bytes.LastIndexByte(piece, 0x1b); i >= 0 {
		state = string(piece[i : i+len(ascii)])
	}
	if within := bytes.TrimSuffix(out, []byte(ascii)); len(within) < len(out) && after != "" {
		called := before
		if i := bytes.LastIndexByte(within, 0x1b); i >= 0 {
			called = string(within[i : i+len(ascii)])
		}
		if called == after {
			return within
		}
	}
	if state == after || isASCII(state) && after == "" || state == "" && after == ascii {
		return out
	}
	if after == "" {
		after = ascii
	}
	return append(out, after...)
}

// isASCII reports whether an escape sequence calls a set of which the letters are
// those of ASCII.
func isASCII(shift string) bool { return shift == "" || shift == ascii || shift == "\x1b(J" }
