// Package diff shows how one text became another, in the unified format of
// POSIX diff -u, which patch and git apply read.
//
// It never takes long: where two texts differ in too much for the shortest difference to
// be found within a fixed amount of work, it returns a longer one, down to "all of this
// was replaced by all of that", but always a true one. It changes no byte of a line: the
// caller escapes control characters. The package accesses memory only: no files, no clock, no goroutines.
package diff

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
)

// Unified is the difference between two texts with context lines around each
// change, empty where there is none. Lines end at LF; a CR before it is part of
// the line and is shown as it is, and a last line without LF is followed by the
// line that says so. Names are escaped, so that they cannot forge a line.
//
// The outcome has at most maxBytes bytes. What is longer is cut at the end of a
// line, and truncated is set: it can be read, but no longer applied.
func Unified(oldName, newName string, old, new []byte, context int, maxBytes int) (diff string, truncated bool) {
	if string(old) == string(new) {
		return "", false
	}
	w := writer{left: maxBytes}
	w.line("--- " + text.Escape(oldName) + "\n")
	w.line("+++ " + text.Escape(newName) + "\n")
	context = max(0, context)
	p := trim(old, new, context)
	if strings.Count(p.old, "\n")+strings.Count(p.new, "\n") > maxLines {
		w.block(p)
	} else {
		w.hunks(p, context)
	}
	return w.b.String(), w.full
}

// maxLines is how many lines, of both texts, are compared one by one.
const maxLines = 1 << 20

// pair is the part of two texts that differs, with its context.
type pair struct {
	old, new    string
	before      int // lines of both texts before the part
	head, after int // bytes of context that the part begins and ends with
}

// trim leaves out the lines that the texts begin and end with in common, but for
// the context. It compares a stride at once, as long as it is the same.
func trim(old, new []byte, context int) pair {
	const stride = 4096
	head, common := 0, min(len(old), len(new))
	for head+stride <= common && bytes.Equal(old[head:head+stride], new[head:head+stride]) {
		head += stride
	}
	for head < common && old[head] == new[head] {
		head++
	}
	head = bytes.LastIndexByte(old[:head], '\n') + 1

	a, b := old[head:], new[head:]
	tail := 0
	common = min(len(a), len(b))
	for tail+stride <= common && bytes.Equal(a[len(a)-tail-stride:len(a)-tail], b[len(b)-tail-stride:len(b)-tail]) {
		tail += stride
	}
	for tail < common && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	// The tail begins where a line does in both texts.
	starts := func(s []byte) bool { return len(s) == tail || s[len(s)-tail-1] == '\n' }
	if tail > 0 && !(starts(a) && starts(b)) {
		if i := bytes.IndexByte(a[len(a)-tail:], '\n'); i >= 0 {
			tail -= i + 1
		} else {
			tail = 0
		}
	}

	from := head
	for range context {
		if from > 0 {
			from = bytes.LastIndexByte(old[:from-1], '\n') + 1
		}
	}
	after := 0
	for range context {
		rest := old[len(old)-tail+after:]
		if line := bytes.IndexByte(rest, '\n') + 1; line > 0 {
			after += line
		} else {
			after += len(rest)
		}
	}
	return pair{
		old: string(old[from : len(old)-tail+after]), new: string(new[from : len(new)-tail+after]),
		before: bytes.Count(old[:from], []byte("\n")), head: head - from, after: after,
	}
}

// writer writes lines until it is full.
type writer struct {
	b    strings.Builder
	left int
	full bool
}

// line writes a line whole or not at all, and nothing behind one left out.
func (w *writer) line(parts ...string) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if w.full = w.full || n > w.left; w.full {
		return
	}
	for _, p := range parts {
		w.b.WriteString(p)
	}
	w.left -= n
}

// put writes one line of a text behind its sign.
func (w *writer) put(sign, line string) {
	if strings.HasSuffix(line, "\n") {
		w.line(sign, line)
		return
	}
	w.line(sign, line, "\n\\ No newline at end of file\n")
}

// header begins a hunk of so many lines behind so many others.
func (w *writer) header(oldBefore, oldLines, newBefore, newLines int) {
	w.line("@@ -" + span(oldBefore, oldLines) + " +" + span(newBefore, newLines) + " @@\n")
}

// span is a range of lines as POSIX has it: one line has no number of lines, and
// none has the number of the line before it.
func span(before, lines int) string {
	switch lines {
	case 0:
		return strconv.Itoa(before) + ",0"
	case 1:
		return strconv.Itoa(before + 1)
	}
	return strconv.Itoa(before+1) + "," + strconv.Itoa(lines)
}

// block writes a part of too many lines as replaced whole.
func (w *writer) block(p pair) {
	count := func(s string) int {
		n := strings.Count(s, "\n")
		if s != "" && !strings.HasSuffix(s, "\n") {
			n++
		}
		return n
	}
	w.header(p.before, count(p.old), p.before, count(p.new))
	for _, part := range [][2]string{
		{" ", p.old[:p.head]},
		{"-", p.old[p.head : len(p.old)-p.after]},
		{"+", p.new[p.head : len(p.new)-p.after]},
		{" ", p.old[len(p.old)-p.after:]},
	} {
		for line := range strings.Lines(part[1]) {
			if w.put(part[0], line); w.full {
				return
			}
		}
	}
}

// hunks writes the changes of a part, those together that share context.
func (w *writer) hunks(p pair, context int) {
	old, new := split(p.old), split(p.new)
	c := newComparison(old, new)
	c.run()
	common := func(i, j int) bool { return i < len(old) && j < len(new) && !c.gone[i] && !c.fresh[j] }
	for i, j := 0, 0; !w.full; {
		for common(i, j) {
			i, j = i+1, j+1
		}
		if i == len(old) && j == len(new) {
			return
		}
		lead := min(context, i)
		endI, endJ := c.hunkEnd(i, j, context)
		i, j = i-lead, j-lead
		w.header(p.before+i, endI-i, p.before+j, endJ-j)
		for (i < endI || j < endJ) && !w.full {
			switch {
			case i < endI && c.gone[i]:
				w.put("-", old[i])
				i++
			case j < endJ && c.fresh[j]:
				w.put("+", new[j])
				j++
			default:
				w.put(" ", old[i])
				i, j = i+1, j+1
			}
		}
	}
}

// split cuts a text into its lines, each with its line end.
func split(s string) []string { return slices.Collect(strings.Lines(s)) }
