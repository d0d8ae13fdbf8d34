package edit

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// page is one file in the three forms an edit needs. In the usual case, UTF-8
// with LF, the three are one string.
type page struct {
	enc    text.Encoding
	mark   string // the byte-order mark, if there is one
	raw    string // the bytes behind it
	text   string // raw as UTF-8
	lines  string // text with every line end as LF
	ending text.LineEnding
}

func openPage(content []byte, enc text.Encoding) (page, error) {
	p := page{enc: enc}
	if mark := enc.BOM(); bytes.HasPrefix(content, mark) {
		p.mark = string(mark)
	}
	p.raw = string(content[len(p.mark):])
	p.text = p.raw
	if enc.IsUTF8() {
		p.ending = text.LineEndingOf(content[len(p.mark):])
	} else {
		decoded, err := enc.Decode(content)
		if err != nil {
			return page{}, err
		}
		p.text = decoded
		p.ending = text.LineEndingOf([]byte(decoded))
	}
	p.lines = p.given(p.text)
	return p, nil
}

// given is a text with the line ends that p knows as LF.
func (p page) given(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if p.ending == text.CR {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s
}

// replace puts a text in at every match that stands on whole characters of the
// encoding, and counts them.
func (p page) replace(old *finder, with string, maxBytes int) ([]byte, int, error) {
	out := make([]byte, 0, min(len(p.mark)+len(p.raw)+len(with), max(0, maxBytes)))
	out = append(out, p.mark...)
	t, w := newTracker(p), newWriting(p, with)
	done, n := 0, 0
	for at := range old.each(p.lines, false) {
		pl, ok := t.place(at, at+len(old.needle))
		if !ok {
			continue
		}
		put, err := w.at(pl)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, p.raw[done:pl.rawFrom]...)
		out = append(out, put...)
		if done = pl.rawTo; len(out) > maxBytes {
			return nil, 0, errTooLarge(maxBytes)
		}
		n++
	}
	if !t.complete() {
		return nil, 0, fault.New(fault.Internal, "the characters of the file cannot be told apart in "+p.enc.Name(), "Write the whole file anew")
	}
	if len(out)+len(p.raw)-done > maxBytes {
		return nil, 0, errTooLarge(maxBytes)
	}
	return append(out, p.raw[done:]...), n, nil
}

// once refuses a text that is there more than once, be it overlapping itself.
func (p page) once(old *finder) error {
	first := true
	for range old.each(p.lines, true) {
		if !first {
			return p.errMany(old)
		}
		first = false
	}
	return nil
}

// linesTold is how many line numbers a refusal names.
const linesTold = 20

// matches counts the matches and gives the lines, from 1, the first of them
// begin in.
func (p page) matches(old *finder, overlapping bool) (n int, lines []int) {
	line, seen := 1, 0
	for at := range old.each(p.lines, overlapping) {
		if n++; len(lines) < linesTold {
			line += strings.Count(p.lines[seen:at], "\n")
			seen = at
			lines = append(lines, line)
		}
	}
	return n, lines
}

func (p page) errMany(old *finder) error {
	n, lines := p.matches(old, true)
	return fault.New(fault.ParamInvalid,
		"the text to replace is there "+times(n)+", in "+listed(n, lines)+", and which one is meant is not clear",
		"Give more of the text around it, so that it is there once, or ask to replace all").
		With("lines", lines).With("matches", n)
}

func (p page) errCount(old *finder, n, want int) error {
	_, lines := p.matches(old, false)
	return fault.New(fault.ParamInvalid,
		"the text to replace is there "+times(n)+", in "+listed(n, lines)+", not "+times(want)+" as expected",
		"Give the number that is right, or more of the text around the places meant").
		With("lines", lines).With("matches", n).With("expected", want)
}

func errTooLarge(maxBytes int) error {
	return fault.New(fault.LimitReached,
		"the edited file would have more than "+strconv.Itoa(maxBytes)+" bytes",
		"Put in less").With("limit", maxBytes)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// listed is "line 3" or "lines 3, 9 and more".
func listed(n int, lines []int) string {
	var b strings.Builder
	for i, line := range lines {
		switch {
		case i == 0 && len(lines) == 1:
			b.WriteString("line ")
		case i == 0:
			b.WriteString("lines ")
		case i == n-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	if n > len(lines) {
		b.WriteString(" and more")
	}
	return b.String()
}
