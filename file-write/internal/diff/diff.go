// Package diff shows how one text became another, in the unified format of
// POSIX diff -u, which patch and git apply read.
//
// It refuses to take long: where two texts differ in too much for the shortest
// way to be found within a fixed amount of work, it gives a longer one, down to
// "all of this was replaced by all of that", but always a true one. It changes
// no byte of a line, so that control characters in it are the caller's to
// escape. The package touches memory only: no files, no clock, no goroutines.
package diff

import (
	"bytes"
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
	p := trim(old, new, max(0, context))
	if strings.Count(p.old, "\n")+strings.Count(p.new, "\n") > mostLines {
		w.block(p)
	} else {
		w.hunks(p, max(0, context))
	}
	return w.b.String(), w.full
}

// mostLines is how many lines, of both texts, are compared one by one.
const mostLines = 1 << 20

// pair is the part of two texts that differs, with its context.
type pair struct {
	old, new     string
	before       int // lines of both texts before the part
	head, behind int // bytes of context that the part begins and ends with
}

// trim leaves out the lines that the texts begin and end with in common, but for
// the context.
func trim(old, new []byte, context int) pair {
	n := bytes.LastIndexByte(old[:commonHead(old, new)], '\n') + 1
	tail := wholeLines(old, new, n, commonTail(old[n:], new[n:]))
	head := lastLines(old[:n], context)
	behind := firstLines(old[len(old)-tail:], context)
	from := n - head
	return pair{
		old: string(old[from : len(old)-tail+behind]), new: string(new[from : len(new)-tail+behind]),
		before: bytes.Count(old[:from], []byte("\n")), head: head, behind: behind,
	}
}

// stride is how much is compared at once, as long as it is the same.
const stride = 4096

// commonHead is how many bytes two texts begin with in common.
func commonHead(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n+stride <= most && bytes.Equal(a[n:n+stride], b[n:n+stride]) {
		n += stride
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// commonTail is how many bytes two texts end with in common.
func commonTail(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n+stride <= most && bytes.Equal(a[len(a)-n-stride:len(a)-n], b[len(b)-n-stride:len(b)-n]) {
		n += stride
	}
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// wholeLines shortens a common tail so that it begins at the start of a line in
// both texts. The texts differ only behind from, which is the start of a line.
func wholeLines(old, new []byte, from, tail int) int {
	starts := func(s []byte) bool { return len(s)-tail == from || s[len(s)-tail-1] == '\n' }
	if tail == 0 || starts(old) && starts(new) {
		return tail
	}
	i := bytes.IndexByte(old[len(old)-tail:], '\n')
	if i < 0 {
		return 0
	}
	return tail - i - 1
}

// lastLines is how many bytes the last n lines of s have; s ends in a line end.
func lastLines(s []byte, n int) int {
	end := len(s)
	for range n {
		if end == 0 {
			break
		}
		end = bytes.LastIndexByte(s[:end-1], '\n') + 1
	}
	return len(s) - end
}

// firstLines is how many bytes the first n lines of s have.
func firstLines(s []byte, n int) int {
	end := 0
	for range n {
		line := bytes.IndexByte(s[end:], '\n') + 1
		if line == 0 {
			return len(s)
		}
		end += line
	}
	return end
}

// cutLine is the first line of s with its line end.
func cutLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i+1]
	}
	return s
}

// split cuts a text into its lines, each with its line end.
func split(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
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
	w.header(p.before, countLines(p.old), p.before, countLines(p.new))
	w.each(" ", p.old[:p.head])
	w.each("-", p.old[p.head:len(p.old)-p.behind])
	w.each("+", p.new[p.head:len(p.new)-p.behind])
	w.each(" ", p.old[len(p.old)-p.behind:])
}

func (w *writer) each(sign, lines string) {
	for lines != "" && !w.full {
		line := cutLine(lines)
		w.put(sign, line)
		lines = lines[len(line):]
	}
}

// hunks writes the changes of a part, those together that share context.
func (w *writer) hunks(p pair, context int) {
	s := compare(split(p.old), split(p.new))
	i, j := 0, 0
	for !w.full {
		for i < len(s.old) && j < len(s.new) && !s.gone[i] && !s.fresh[j] {
			i, j = i+1, j+1
		}
		if i == len(s.old) && j == len(s.new) {
			return
		}
		lead := min(context, i)
		endI, endJ := s.hunkEnd(i, j, context)
		w.header(p.before+i-lead, endI-i+lead, p.before+j-lead, endJ-j+lead)
		w.hunk(s, i-lead, j-lead, endI, endJ)
		i, j = endI, endJ
	}
}

func (w *writer) hunk(s script, i, j, endI, endJ int) {
	for (i < endI || j < endJ) && !w.full {
		switch {
		case i < endI && s.gone[i]:
			w.put("-", s.old[i])
			i++
		case j < endJ && s.fresh[j]:
			w.put("+", s.new[j])
			j++
		default:
			w.put(" ", s.old[i])
			i, j = i+1, j+1
		}
	}
}
