package edit

import (
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// nearest looks for the place of a text that a caller may have meant. It is only
// ever told, never edited. It asks three questions, each in time linear in the
// two texts together, and takes the first answer:
//
//   - alike: where does the text stand if everything is left out that a [folding]
//     leaves out? The answer is exact about what differs.
//   - agreeing: at which line do most of its lines agree with those of the file?
//   - similar: which line has most runs of three characters in common with its
//     longest one?
type nearest struct {
	file, given string
	work        int // steps taken, for the tests of what linear means
}

// spot is a place in the file, and what to say of it.
type spot struct {
	line        int    // from 1
	there       string // the file's text, the line or lines
	differences []string
}

func (n *nearest) find() (spot, bool) {
	for _, ask := range []func() (spot, bool){n.alike, n.agreeing, n.similar} {
		if s, ok := ask(); ok {
			return s, true
		}
	}
	return spot{}, false
}

// errNone says that a text is not there, and what is there instead.
func (p page) errNone(old *finder) error {
	const missing = "the text to replace is not in the file"
	n := nearest{file: p.lines, given: old.needle}
	s, ok := n.find()
	if !ok {
		return fault.New(fault.ParamInvalid, missing+", nor is anything like it", "Read the file again and copy the text from it")
	}
	return fault.New(fault.ParamInvalid,
		missing+"; the nearest place is line "+strconv.Itoa(s.line)+`, "`+shown(s.there)+`", which differs: `+strings.Join(s.differences, "; "),
		"Copy the text from the file exactly as it stands there, if that is the place meant").
		With("line", s.line).With("text", text.Cut(s.there, textTold)).With("differences", s.differences)
}

const (
	textTold  = 2000 // bytes of the file in the details of a refusal
	lineTold  = 160  // bytes of a line in its sentence
	gapTold   = 4096 // bytes of white space looked at around a place
	foldTold  = 100  // characters of a line that count for its weight
	keyLength = 256  // characters of a line that are looked for
)

func (n *nearest) fold(s string) *folding { return &folding{s: s, work: &n.work} }

// alike finds the text in the file with both of them folded.
func (n *nearest) alike() (spot, bool) {
	var needle []rune
	for f := n.fold(n.given); ; {
		r, ok := f.next()
		if !ok {
			break
		}
		needle = append(needle, r)
	}
	if len(needle) == 0 {
		return spot{}, false
	}
	end, ok := n.foldedIndex(needle)
	if !ok {
		return spot{}, false
	}
	f := n.fold(n.file)
	for range end - len(needle) + 1 {
		f.next()
	}
	c := comparison{nearest: n, start: f.from}
	return c.spot(len(needle)), true
}

// foldedIndex is how many runes of the folded file come before the end of the
// first match.
func (n *nearest) foldedIndex(needle []rune) (int, bool) {
	auto := newAutomaton(needle)
	defer func() { n.work += auto.steps }()
	f, k := n.fold(n.file), int32(0)
	for i := 1; ; i++ {
		r, ok := f.next()
		if !ok {
			return 0, false
		}
		if k = auto.step(k, r); int(k) == len(needle) {
			return i, true
		}
	}
}

// lineHash is a line folded, and how much it says: 0 if it is blank.
type lineHash struct {
	sum    uint64
	weight int
}

// hash is FNV-1a. A collision would only make for a worse suggestion.
func (n *nearest) hash(line string) lineHash {
	h := lineHash{sum: 14695981039346656037}
	for f := n.fold(line); ; {
		r, ok := f.next()
		if !ok {
			return h
		}
		h.sum = (h.sum ^ uint64(r)) * 1099511628211
		h.weight = min(h.weight+1, foldTold)
	}
}

// agreeing lets every line of the file that is also one of the text vote for the
// place where the text would begin. A line that the text has more than once has
// no vote, so that there is at most one for each line of the file.
func (n *nearest) agreeing() (spot, bool) {
	var given []lineHash
	index, total := map[uint64]int{}, 0
	for line := range strings.SplitSeq(n.given, "\n") {
		h := n.hash(line)
		if _, again := index[h.sum]; again {
			index[h.sum] = -1
		} else {
			index[h.sum] = len(given)
		}
		total += h.weight
		given = append(given, h)
	}
	votes := make([]int32, len(given)+1+strings.Count(n.file, "\n"))
	best, i := 0, 0
	for line := range strings.SplitSeq(n.file, "\n") {
		h := n.hash(line)
		if j, known := index[h.sum]; known && j >= 0 && h.weight > 0 {
			start := i - j + len(given) - 1
			if votes[start] += int32(h.weight); votes[start] > votes[best] {
				best = start
			}
		}
		i++
	}
	if int(votes[best])*3 < total || votes[best] < 3 {
		return spot{}, false
	}
	return n.disagreement(given, best-len(given)+1), true
}

// disagreement is the first line that is not the same where the text would
// begin at line start of the file, from 0; it may be below that.
func (n *nearest) disagreement(given []lineHash, start int) spot {
	at, rest := 0, n.file
	for ; at < start; at++ {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	s := spot{line: max(start, 0) + 1, there: firstLine(rest)}
	j, ended := 0, false
	for want := range strings.SplitSeq(n.given, "\n") {
		var there string
		inside := start+j >= 0 && !ended
		if inside {
			var more bool
			there, rest, more = strings.Cut(rest, "\n")
			ended = !more
		}
		switch {
		case !inside && given[j].weight == 0:
		case !inside:
			s.differences = []string{`the file has no line there for "` + shown(want) + `"`}
			return s
		case n.hash(there) != given[j]:
			s.differences = []string{"line " + strconv.Itoa(start+j+1) + ` of the file is "` + shown(there) + `" where the text given has "` + shown(want) + `"`}
			return s
		}
		j++
	}
	s.differences = []string{"the lines agree, but not all that is between them"}
	return s
}

// similar compares runs of three folded characters. A line of the file that is
// much longer than the one looked for is taken in pieces.
func (n *nearest) similar() (spot, bool) {
	key, want := n.key()
	if len(want) == 0 {
		return spot{}, false
	}
	piece := max(64, 4*len(want))
	best, score, line := spot{}, 0.0, 0
	visit := 0
	for whole := range strings.SplitSeq(n.file, "\n") {
		line++
		f := n.fold(whole)
		for begin, more := 0, true; more; begin = f.at {
			visit++
			var all, common int
			all, common, more = f.common(want, piece, visit)
			if got := float64(common)/float64(len(want)) - 0.1*float64(all)/float64(piece); got > score {
				best, score = spot{line: line, there: whole[begin:f.at]}, got
			}
		}
	}
	if score < 0.4 {
		return spot{}, false
	}
	best.differences = []string{`the text given has "` + shown(key) + `"`}
	return best, true
}

type trigram [3]rune

// key is the longest line of the text, and its runs of three.
func (n *nearest) key() (string, map[trigram]int) {
	key := ""
	for line := range strings.SplitSeq(n.given, "\n") {
		if line = strings.TrimSpace(line); len(line) > len(key) {
			key = line
		}
	}
	want := map[trigram]int{}
	n.fold(text.Cut(key, keyLength)).grams(keyLength, func(g trigram) { want[g] = 0 })
	return key, want
}

// common counts the runs of three in the next runes, and those of them that are
// wanted, each once: want keeps the last visit it was seen in.
func (f *folding) common(want map[trigram]int, runes, visit int) (all, common int, more bool) {
	more = f.grams(runes, func(g trigram) {
		all++
		if seen, wanted := want[g]; wanted && seen != visit {
			want[g] = visit
			common++
		}
	})
	return all, common, more
}

// grams gives the runs of three among the next runes; not more at the end.
func (f *folding) grams(runes int, yield func(trigram)) (more bool) {
	var g trigram
	for i := range runes {
		r, ok := f.next()
		if !ok {
			return false
		}
		if g = (trigram{g[1], g[2], r}); i >= 2 {
			yield(g)
		}
	}
	return true
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// shown is the first line of a text made fit for a sentence.
func shown(s string) string {
	line := firstLine(s)
	if cut := text.Cut(line, lineTold); len(cut) < len(line) {
		return text.Escape(cut) + "…"
	}
	return text.Escape(line)
}
