package edit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// nearest looks for the place of a text that a caller may have meant. It is only ever
// named, never edited. It asks three questions, each in time linear in the two texts
// together, and takes the first answer:
//
//   - alike: where is the text if everything is left out that a [folding] leaves out? The
//     answer is exact about what differs.
//   - agreeing: at which line do most of its lines agree with those of the file?
//   - similar: which line has most runs of three characters in common with its
//     longest one?
type nearest struct {
	file, given string
	work        int // steps taken, which tests of the time count
}

// spot is a place in the file, and what to say of it.
type spot struct {
	line        int    // from 1
	there       string // the file's text, the line or lines
	differences []string
}

const (
	maxText   = 2000 // bytes of the file in the details of a refusal
	maxShown  = 160  // bytes of a line in its sentence
	maxGap    = 4096 // bytes of white space examined around a place
	maxWeight = 100  // characters of a line that count for its weight
	maxKey    = 256  // characters of a line that are looked for
)

// missing refuses a text that is not there, and names what is there instead.
func (p page) missing(given string) error {
	const what = "the text to replace is not in the file"
	n := nearest{file: p.lines, given: given}
	s, ok := n.find()
	if !ok {
		return fault.New(fault.ParamInvalid, what+", nor is anything like it", "Read the file again and copy the text from it")
	}
	return fault.New(fault.ParamInvalid,
		what+"; the nearest place is line "+strconv.Itoa(s.line)+`, "`+shown(s.there)+`", which differs: `+strings.Join(s.differences, "; "),
		"Copy the text from the file exactly as it stands there, if that is the place meant").
		With("line", s.line).With("text", text.Cut(s.there, maxText)).With("differences", s.differences)
}

func (n *nearest) find() (spot, bool) {
	for _, ask := range []func() (spot, bool){n.alike, n.agreeing, n.similar} {
		if s, ok := ask(); ok {
			return s, true
		}
	}
	return spot{}, false
}

func (n *nearest) fold(s string) *folding { return &folding{s: s, work: &n.work} }

// alike finds the text in the file with both of them folded.
func (n *nearest) alike() (spot, bool) {
	var needle []rune
	for r := range n.fold(n.given).runes {
		needle = append(needle, r)
	}
	if len(needle) == 0 {
		return spot{}, false
	}
	auto := newAutomaton(needle)
	end, k := 0, int32(0) // runes of the file up to the end of a match
	for r := range n.fold(n.file).runes {
		end++
		if k = auto.step(k, r); int(k) == len(needle) {
			break
		}
	}
	n.work += auto.steps
	if int(k) < len(needle) {
		return spot{}, false
	}
	f := n.fold(n.file)
	for range end - len(needle) + 1 {
		f.next()
	}
	c := comparison{nearest: n, start: f.from}
	return c.spot(len(needle)), true
}

// lineHash is a line folded, and how much it says: 0 if it is blank.
type lineHash struct {
	sum    uint64
	weight int
}

// hash is FNV-1a. A collision would only make for a worse suggestion.
func (n *nearest) hash(line string) lineHash {
	h := lineHash{sum: 14695981039346656037}
	for r := range n.fold(line).runes {
		h.sum = (h.sum ^ uint64(r)) * 1099511628211
		h.weight = min(h.weight+1, maxWeight)
	}
	return h
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
	rest := n.file
	for range start {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	first, _, _ := strings.Cut(rest, "\n")
	s := spot{line: max(start, 0) + 1, there: first}
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
			s.differences = []string{
				"line " + strconv.Itoa(start+j+1) + ` of the file is "` + shown(there) + `" where the text given has "` + shown(want) + `"`,
			}
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
	key := "" // the longest line of the text
	for line := range strings.SplitSeq(n.given, "\n") {
		if line = strings.TrimSpace(line); len(line) > len(key) {
			key = line
		}
	}
	want := map[trigram]int{} // its runs of three, and the last piece that each was seen in
	n.fold(text.Cut(key, maxKey)).trigrams(maxKey, func(g trigram) { want[g] = 0 })
	if len(want) == 0 {
		return spot{}, false
	}

	maxPiece := max(64, 4*len(want))
	best, score, line, piece := spot{}, 0.0, 0, 0
	for whole := range strings.SplitSeq(n.file, "\n") {
		line++
		f := n.fold(whole)
		for begin, more := 0, true; more; begin = f.at {
			piece++
			all, common := 0, 0
			more = f.trigrams(maxPiece, func(g trigram) {
				all++
				if seen, wanted := want[g]; wanted && seen != piece {
					want[g] = piece
					common++
				}
			})
			if got := float64(common)/float64(len(want)) - 0.1*float64(all)/float64(maxPiece); got > score {
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

// trigrams yields the runs of three among the next runes; not more at the end.
func (f *folding) trigrams(maxRunes int, yield func(trigram)) (more bool) {
	var g trigram
	for i := range maxRunes {
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

// shown is the first line of a text made fit for a sentence.
func shown(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	if cut := text.Cut(line, maxShown); len(cut) < len(line) {
		return text.Escape(cut) + "…"
	}
	return text.Escape(line)
}

// comparison is of two texts that fold to the same runes, the one given and the
// one that is in the file from start.
type comparison struct {
	*nearest
	start       int
	kinds       []string // of the differences; each kind is named once
	differences []string
}

// edge is where white space is: around the text, where the file may have
// more of it, or within.
type edge int

const (
	within edge = iota
	leading
	trailing
)

// spot goes over the runes of both texts together. Between two of them may be
// skipped characters (the gap), and the characters they came from may differ.
func (c *comparison) spot(runes int) spot {
	a, b := c.fold(c.given), c.fold(c.file[c.start:])
	endA, endB := 0, 0
	for i := range runes {
		a.next()
		b.next()
		if i == 0 {
			c.gap(c.given[:a.from], c.file[max(0, c.start-maxGap):c.start], leading)
		} else if a.from >= endA && b.from >= endB {
			c.gap(c.given[endA:a.from], b.s[endB:b.from], within)
		}
		if a.from >= endA && b.from >= endB {
			c.character(c.given[a.from:a.at], b.s[b.from:b.at])
		}
		endA, endB = a.at, b.at
	}
	tail := b.s[endB:]
	tail = tail[:min(len(tail), maxGap)]
	if end := strings.IndexFunc(tail, func(r rune) bool { _, shown := folded(r); return shown }); end >= 0 {
		tail = tail[:end]
	}
	c.gap(c.given[endA:], tail, trailing)
	accents := len(tail) - len(strings.TrimLeftFunc(tail, func(r rune) bool { return unicode.Is(unicode.Mn, r) }))
	if there := b.s[:endB+accents]; c.given != there && norm.NFC.String(c.given) == norm.NFC.String(there) {
		c.differences = []string{"Unicode normal form (letters and their accents are one character in one of them, two in the other)"}
	}
	if len(c.differences) == 0 {
		c.differences = []string{"the text is there, but begins or ends within a character of the file's encoding"}
	}

	begin, end := 1+strings.LastIndexByte(c.file[:c.start], '\n'), len(c.file)
	if i := strings.IndexByte(c.file[c.start+endB:], '\n'); i >= 0 {
		end = c.start + endB + i
	}
	return spot{line: 1 + strings.Count(c.file[:begin], "\n"), there: c.file[begin:end], differences: c.differences}
}

// add notes a difference, one of each kind.
func (c *comparison) add(kind, difference string) {
	if !slices.Contains(c.kinds, kind) {
		c.kinds = append(c.kinds, kind)
		c.differences = append(c.differences, kind+" ("+difference+")")
	}
}

func (c *comparison) contrast(kind, given, there string) {
	c.add(kind, "the file has "+there+", the text given "+given)
}

// character compares one character of each.
func (c *comparison) character(given, there string) {
	if given == there {
		return
	}
	kind := "look-alike characters"
	g, _ := utf8.DecodeRuneInString(given)
	t, _ := utf8.DecodeRuneInString(there)
	switch like, _ := folded(g); {
	case like == '\'' || like == '"':
		kind = "quotes"
	case unicode.ToLower(g) == unicode.ToLower(t):
		kind = "upper and lower case"
	}
	named := func(s string, r rune) string {
		switch {
		case skipped(r) || r < ' ':
			return fmt.Sprintf("%U", r)
		case r < utf8.RuneSelf:
			return s
		}
		return fmt.Sprintf("%s (%U)", s, r)
	}
	c.contrast(kind, named(given, g), named(there, t))
}

// gap compares what is skipped between two runes, line by line.
func (c *comparison) gap(given, there string, e edge) {
	if given == there {
		return
	}
	g, t := strings.Split(given, "\n"), strings.Split(there, "\n")
	switch {
	case e == leading && len(t) > len(g):
		t = t[len(t)-len(g):]
	case e == trailing && len(t) > len(g):
		t = t[:len(g)]
	}
	const otherEnds = "\r\u0085\u2028\u2029"
	switch {
	case len(g) != len(t) && strings.ContainsAny(given+there, otherEnds):
		c.add("line ends", "one of them has a CR or another separator alone where the other has a line end")
		return
	case len(g) != len(t):
		c.contrast("line ends", counted(len(g)-1, "line end"), counted(len(t)-1, "line end"))
		return
	}
	for i := range g {
		switch {
		case g[i] == t[i],
			e == leading && i == 0 && strings.HasSuffix(t[i], g[i]),
			e == trailing && i == len(g)-1 && strings.HasPrefix(t[i], g[i]):
		default:
			c.blanks(g[i], t[i], i == len(g)-1 && (i > 0 || e == leading), i < len(g)-1 || e == trailing)
		}
	}
}

// blanks compares gaps within one line.
func (c *comparison) blanks(given, there string, first, last bool) {
	tabs := strings.Contains(given, "\t") != strings.Contains(there, "\t")
	kind := "spaces within the line"
	switch {
	case strings.ContainsFunc(given+there, func(r rune) bool { return r != ' ' && r != '\t' }):
		kind = "invisible or unusual blank characters"
	case first && tabs:
		kind = "indentation, tabs against spaces"
	case first:
		kind = "indentation"
	case last:
		kind = "trailing spaces"
	case tabs:
		kind = "tabs against spaces"
	}
	c.contrast(kind, measured(given), measured(there))
}

// measured is "2 tabs and 3 spaces", with other characters by code point.
func measured(s string) string {
	var parts []string
	if n := strings.Count(s, "\t"); n > 0 {
		parts = append(parts, counted(n, "tab"))
	}
	if n := strings.Count(s, " "); n > 0 {
		parts = append(parts, counted(n, "space"))
	}
	for _, r := range s {
		if name := fmt.Sprintf("%U", r); r != ' ' && r != '\t' && len(parts) < 5 && !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " and ")
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
