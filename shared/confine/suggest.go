package confine

import (
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

const (
	mostCandidates   = 2000 // names of the parent directory that are looked at
	longestCandidate = 64   // bytes; the comparison is quadratic
)

// nearest is the path, in the caller's words, of the name that stands where p has a
// missing one and differs from it by a slip of the hand. What is denied is never told.
func (p Path) nearest() (string, bool) {
	o := p.survey()
	way := strings.Split(p.full(), "/")
	i := o.at - len(way) + len(strings.Split(p.rel, "/"))
	if o.kind != missing || p.followed || i < 0 {
		return "", false
	}
	wanted := way[o.at]
	parent := p
	parent.rel = path.Join(strings.Split(p.rel, "/")[:i]...)
	parent.words = p.wordsUpTo(len(way) - o.at)
	if parent.rel == "" {
		parent.rel = "."
	}
	name, ok := parent.nearestTo(wanted)
	return joinWords(parent.words, name), ok
}

func (p Path) nearestTo(wanted string) (string, bool) {
	if len(wanted) > longestCandidate {
		return "", false
	}
	d, err := p.OpenDir()
	if err != nil {
		return "", false
	}
	defer d.Close()
	best, least := "", 1+slips(wanted)
	for seen := 0; seen < mostCandidates; {
		entries, err := d.Next(256)
		for _, e := range entries {
			if n := distance(strings.ToLower(wanted), strings.ToLower(e.Name), least); n < least && !hasControl(e.Name) {
				best, least = e.Name, n
			}
		}
		if seen += len(entries); err == io.EOF || err != nil {
			break
		}
	}
	return best, best != ""
}

// slips is how many slips are forgiven in a name; in a single letter none.
func slips(name string) int {
	n := utf8.RuneCountInString(name)
	return min(n-1, 1+n/5, 3)
}

// distance counts the insertions, deletions, replacements and swaps of neighbours
// that lead from a to b (optimal string alignment); limit or more is limit.
func distance(a, b string, limit int) int {
	if len(b) > longestCandidate {
		return limit
	}
	x, y := []rune(a), []rune(b)
	if max(len(x)-len(y), len(y)-len(x)) >= limit {
		return limit
	}
	before, above, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+differ(x[i], y[j]))
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return min(above[len(y)], limit)
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
