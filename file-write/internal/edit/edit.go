// Package edit replaces pieces of a text within the bytes of its file.
//
// It refuses to guess: the text to replace is literal and is there once, or as often as
// is expected, or nothing is changed. What is merely alike is named in the refusal and
// never taken. Every byte outside the edits stays as it is, whatever the encoding, the
// byte-order mark, the line endings and the end of the file look like. The package
// accesses memory only: no files, no clock, no goroutines.
//
// # Line ends
//
// An edit never changes how lines end. "\n" and "\r\n" in the text to replace
// both mean any line end of the file, and a CR LF is never matched by half. What
// is put in ends its lines as the file does; where a file mixes line ends, the
// lines put in take, one by one, those of the lines they replace, and further
// ones that of the place. A file without a line end has nothing to go by: there
// the line ends put in are those given. A lone CR is a line end only in a file
// that has no other kind.
package edit

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Edit puts New where Old is. Both are literal UTF-8.
type Edit struct {
	Old, New string
	All      bool // every match, however many there are, but at least one
	Count    int  // the matches expected; 0 means one, or any number with All
}

// Out is the file after all edits.
type Out struct {
	Content      []byte
	Replacements int
	Counts       []int // replacements of each edit, in their order
}

// Apply makes the edits in their order, each on what the one before it left;
// either all of them or, with an error, none. The content is in the encoding,
// with or without a byte-order mark, and is not changed itself. Neither the
// outcome nor anything on the way to it may have more than maxBytes bytes
// (fault.LimitReached).
//
// The other refusals are fault.ParamInvalid: an empty Old; an Old that is not
// there, with the nearest place and how it differs (see [nearest]); one that is
// there more often than it should be, with its lines; a character in New that
// the encoding cannot hold; content that is not in the encoding. In UTF-8, bytes
// that are no character do not matter, since they are not changed. With several
// edits, Details["edit"] is the number of the one refused, from 1.
//
// The time is linear in the size of the content for each edit.
func Apply(content []byte, enc text.Encoding, edits []Edit, maxBytes int) (Out, error) {
	if len(edits) == 0 {
		return Out{}, fault.New(fault.ParamInvalid, "there is no edit to make", "Give the text to replace and the text to put there")
	}
	refusal := func(err error, i int) error {
		if len(edits) == 1 {
			return err
		}
		e := *fault.From(err)
		words := "edit " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(edits)) + ": " + e.Msg
		if i > 0 {
			words += " (as the edits before it left the file)"
		}
		e.Msg = words
		return e.With("edit", i+1)
	}

	for i, e := range edits {
		var err error
		switch {
		case e.Old == "":
			err = fault.New(fault.ParamInvalid, "the text to replace is empty",
				"Give the text to replace; to add text, replace a line next to it by that line and the new ones")
		case !utf8.ValidString(e.Old):
			err = fault.New(fault.ParamInvalid, "the text to replace is not valid UTF-8", "Give it as text")
		case !utf8.ValidString(e.New):
			err = fault.New(fault.ParamInvalid, "the text to put in is not valid UTF-8", "Give it as text")
		case e.Count < 0:
			err = fault.New(fault.ParamInvalid, "the number of matches expected is "+strconv.Itoa(e.Count), "Give 1 or more, or leave it out")
		}
		if err != nil {
			return Out{}, refusal(err, i)
		}
	}

	out := Out{Content: content, Counts: make([]int, len(edits))}
	for i, e := range edits {
		next, n, err := e.apply(out.Content, enc, maxBytes)
		if err != nil {
			return Out{}, refusal(err, i)
		}
		out.Content, out.Counts[i], out.Replacements = next, n, out.Replacements+n
	}
	return out, nil
}

// apply makes one edit of a whole file.
func (e Edit) apply(content []byte, enc text.Encoding, maxBytes int) ([]byte, int, error) {
	p, err := openPage(content, enc)
	if err != nil {
		return nil, 0, err
	}
	old := newAutomaton([]byte(p.withLF(e.Old)))
	if !e.All && e.Count == 0 {
		if err := p.once(old); err != nil {
			return nil, 0, err
		}
	}

	// New is put in at every match that is whole characters of the encoding.
	out := make([]byte, 0, min(len(p.mark)+len(p.raw)+len(e.New), max(0, maxBytes)))
	out = append(out, p.mark...)
	t, w := newTracker(p), newInsertion(p, e.New)
	done, n := 0, 0
	for at := range matches(old, p.lines, false) {
		m, ok := t.match(at, at+len(old.needle))
		if !ok {
			continue
		}
		insert, err := w.at(m)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, p.raw[done:m.rawFrom]...)
		out = append(out, insert...)
		if done = m.rawTo; len(out) > maxBytes {
			break
		}
		n++
	}
	tooLarge := len(out)+len(p.raw)-done > maxBytes || len(out) > maxBytes
	switch {
	case !tooLarge && !t.complete():
		return nil, 0, fault.New(fault.Internal, "the characters of the file cannot be told apart in "+enc.Name(), "Write the whole file anew")
	case tooLarge:
		return nil, 0, fault.New(fault.LimitReached, "the edited file would have more than "+strconv.Itoa(maxBytes)+" bytes", "Put in less").
			With("limit", maxBytes)
	case n == 0:
		return nil, 0, p.missing(string(old.needle))
	case e.Count > 0 && n != e.Count:
		_, lines, words := p.where(old, n, false)
		return nil, 0, fault.New(fault.ParamInvalid, words+", not "+times(e.Count)+" as expected",
			"Give the number that is right, or more of the text around the places meant").
			With("lines", lines).With("matches", n).With("expected", e.Count)
	}
	out = append(out, p.raw[done:]...)
	if p.mark == "" && enc.HasBOM(out) {
		return nil, 0, fault.New(fault.ParamInvalid, "the edit would put a byte-order mark at the start of a file that has none",
			"Leave out the U+FEFF")
	}
	return out, n, nil
}

// page is one file in the three forms an edit needs. In the usual case, UTF-8
// with LF, the three are one string.
type page struct {
	enc    text.Encoding
	mark   string // the byte-order mark, if there is one
	raw    string // the bytes after it
	text   string // raw as UTF-8
	lines  string // text with every line ending as LF
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
	p.lines = p.withLF(p.text)
	return p, nil
}

// withLF is a text with the line endings of the file as LF.
func (p page) withLF(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if p.ending == text.CR {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s
}

// once refuses a text that is there more than once, also overlapping itself.
func (p page) once(old *automaton[byte]) error {
	found := 0
	for range matches(old, p.lines, true) {
		if found++; found > 1 {
			n, lines, words := p.where(old, 0, true)
			return fault.New(fault.ParamInvalid, words+", and which one is meant is not clear",
				"Give more of the text around it, so that it is there once, or ask to replace all").
				With("lines", lines).With("matches", n)
		}
	}
	return nil
}

// where counts the matches of a text, and returns the lines, from 1, in which the first of
// them begin, also in words. A count that is not 0 is known to be that of the matches that
// are whole characters of the encoding.
func (p page) where(old *automaton[byte], count int, overlapping bool) (n int, lines []int, words string) {
	const maxLines = 20
	line, seen := 1, 0
	for at := range matches(old, p.lines, overlapping) {
		if n++; len(lines) < maxLines {
			line += strings.Count(p.lines[seen:at], "\n")
			seen = at
			lines = append(lines, line)
		}
	}
	if count > 0 {
		n = count
	}
	words = "the text to replace is there " + times(n) + ", in line"
	for i, line := range lines {
		switch {
		case i == 0 && len(lines) > 1:
			words += "s"
		case i > 0 && i == n-1:
			words += " and"
		case i > 0:
			words += ","
		}
		words += " " + strconv.Itoa(line)
	}
	if n > len(lines) {
		words += " and more"
	}
	return n, lines, words
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}
