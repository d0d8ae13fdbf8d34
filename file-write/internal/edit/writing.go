package edit

import (
	"bytes"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
)

// writing is the text an edit puts in, as bytes fit for each place.
type writing struct {
	page   page
	text   string // with LF where the line ends are still to be chosen
	chosen bool   // the line ends are the same everywhere
	next   int    // page.text: the first LF behind a place; len if none
	final  string // how the last line end of the file is, once asked

	last    string // the text encoded last
	encoded []byte
	encodes bool // whether there is one
}

func newWriting(p page, with string) *writing {
	w := &writing{page: p, text: with, chosen: true, next: -1}
	switch p.ending {
	case text.LF:
		w.text = p.given(with)
	case text.CRLF:
		w.text = strings.ReplaceAll(p.given(with), "\n", "\r\n")
	case text.CR:
		w.text = strings.ReplaceAll(p.given(with), "\n", "\r")
	case text.Mixed:
		w.text = p.given(with)
		w.chosen = !strings.Contains(w.text, "\n")
	}
	return w
}

// at is the bytes to put in at a place. The slice is good until the next call.
func (w *writing) at(pl place) ([]byte, error) {
	s := w.text
	if !w.chosen {
		s = w.endedAs(pl)
	}
	if !w.encodes || s != w.last {
		b, err := w.page.enc.Encode(s, false)
		if err != nil {
			return nil, err
		}
		w.last, w.encoded, w.encodes = s, b, true
	}
	if w.page.enc.Name() == "iso-2022-jp" {
		return shifted(pl.before, pl.after, w.encoded), nil
	}
	return w.encoded, nil
}

// endedAs gives the lines put in the line ends of those they replace, one by
// one, and further ones the last of these, or that of the place.
func (w *writing) endedAs(pl place) string {
	var b strings.Builder
	replaced, end := w.page.text[pl.from:pl.to], ""
	first := true
	for line := range strings.SplitSeq(w.text, "\n") {
		if !first {
			if i := strings.IndexByte(replaced, '\n'); i >= 0 {
				end, replaced = endAt(replaced, i), replaced[i+1:]
			} else {
				replaced = ""
			}
			if end == "" {
				end = w.around(pl)
			}
			b.WriteString(end)
		}
		b.WriteString(line)
		first = false
	}
	return b.String()
}

// around is how the line ends that a place is in, or the one before it where it
// is the last. Only files of mixed line ends are asked, and those have an LF.
func (w *writing) around(pl place) string {
	all := w.page.text
	if w.next < pl.to {
		w.next = len(all)
		if i := strings.IndexByte(all[pl.to:], '\n'); i >= 0 {
			w.next = pl.to + i
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

// endAt is the line end whose LF stands at i.
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
// ends in the state behind, and repeats no sequence that is in force already. So
// the bytes behind it keep their meaning without being touched.
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

// isASCII says that an escape sequence calls a set of which the letters are
// those of ASCII.
func isASCII(shift string) bool { return shift == "" || shift == ascii || shift == "\x1b(J" }
