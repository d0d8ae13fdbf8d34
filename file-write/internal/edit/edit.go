// Package edit replaces pieces of a text within the bytes of its file.
//
// It refuses to guess: the text to replace is literal and stands where it is
// said to stand, once or as often as is expected, or nothing is changed. What is
// merely alike is named in the refusal and never taken. It refuses to touch
// anything else: every byte outside the edits stays as it is, whatever the
// encoding, the byte-order mark, the line ends and the end of the file look
// like. The package touches memory only: no files, no clock, no goroutines.
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
	"strconv"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Edit puts New where Old stands. Both are literal UTF-8.
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
// the encoding cannot hold; content that is not in the encoding. In UTF-8 bytes
// that mean no character are no hindrance, since they are not touched. With
// several edits, Details["edit"] is the number of the one refused, from 1.
//
// The time is linear in the size of the content for each edit.
func Apply(content []byte, enc text.Encoding, edits []Edit, maxBytes int) (Out, error) {
	if len(edits) == 0 {
		return Out{}, fault.New(fault.ParamInvalid, "there is no edit to make", "Give the text to replace and the text to put there")
	}
	for i, e := range edits {
		if err := e.check(); err != nil {
			return Out{}, numbered(err, i, len(edits))
		}
	}
	now, out := content, Out{Counts: make([]int, len(edits))}
	for i, e := range edits {
		next, n, err := e.apply(now, enc, maxBytes)
		if err != nil {
			return Out{}, numbered(err, i, len(edits))
		}
		now, out.Counts[i], out.Replacements = next, n, out.Replacements+n
	}
	out.Content = now
	return out, nil
}

func (e Edit) check() *fault.Error {
	switch {
	case e.Old == "":
		return fault.New(fault.ParamInvalid, "the text to replace is empty", "Give the text to replace; to add text, replace a line next to it by that line and the new ones")
	case !utf8.ValidString(e.Old):
		return fault.New(fault.ParamInvalid, "the text to replace is not valid UTF-8", "Give it as text")
	case !utf8.ValidString(e.New):
		return fault.New(fault.ParamInvalid, "the text to put in is not valid UTF-8", "Give it as text")
	case e.Count < 0:
		return fault.New(fault.ParamInvalid, "the number of matches expected is "+strconv.Itoa(e.Count), "Give 1 or more, or leave it out")
	}
	return nil
}

// apply makes one edit of a whole file.
func (e Edit) apply(content []byte, enc text.Encoding, maxBytes int) ([]byte, int, error) {
	p, err := openPage(content, enc)
	if err != nil {
		return nil, 0, err
	}
	old := newFinder(p.given(e.Old))
	if !e.All && e.Count == 0 {
		if err := p.once(old); err != nil {
			return nil, 0, err
		}
	}
	next, n, err := p.replace(old, e.New, maxBytes)
	switch {
	case err != nil:
		return nil, 0, err
	case n == 0:
		return nil, 0, p.errNone(old)
	case e.Count > 0 && n != e.Count:
		return nil, 0, p.errCount(old, n, e.Count)
	case p.mark == "" && enc.HasBOM(next):
		return nil, 0, fault.New(fault.ParamInvalid, "the edit would put a byte-order mark at the start of a file that has none", "Leave out the U+FEFF")
	}
	return next, n, nil
}

// numbered says which of several edits was refused.
func numbered(err error, i, of int) error {
	if of == 1 {
		return err
	}
	e := fault.From(err)
	told := *e
	told.Msg = "edit " + strconv.Itoa(i+1) + " of " + strconv.Itoa(of) + ": " + e.Msg
	if i > 0 {
		told.Msg += " (as the edits before it left the file)"
	}
	return told.With("edit", i+1)
}
