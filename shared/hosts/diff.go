package hosts

import (
	"fmt"
	"strings"
)

// Diff is the change of a file as a unified difference with three lines around
// it; empty: there is none. A change of one entry is one run of lines, so it is
// enough to skip the equal lines at both ends.
func Diff(name string, before, after []byte) string {
	a, b := lines(before), lines(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head+tail == len(a) && len(a) == len(b) {
		return ""
	}
	const around = 3
	from, below := max(head-around, 0), min(tail, around)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", name, name,
		hunk(from, len(a)-tail+below), hunk(from, len(b)-tail+below))
	write := func(sign string, lines []string) {
		for _, l := range lines {
			out.WriteString(sign + l)
			if !strings.HasSuffix(l, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(" ", a[from:head])
	write("-", a[head:len(a)-tail])
	write("+", b[head:len(b)-tail])
	write(" ", a[len(a)-tail:len(a)-tail+below])
	return out.String()
}

func lines(text []byte) []string {
	var all []string
	for l := range strings.Lines(string(text)) {
		all = append(all, l)
	}
	return all
}

// hunk is the range of lines from to to, counted from 0, as patch reads it.
func hunk(from, to int) string {
	if to == from {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}
