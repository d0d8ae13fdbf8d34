package confine

import (
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/typo"
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
			if len(e.Name) > longestCandidate || hasControl(e.Name) {
				continue
			}
			if n := typo.Distance(strings.ToLower(wanted), strings.ToLower(e.Name), least); n < least {
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
