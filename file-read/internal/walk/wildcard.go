package walk

import (
	"strings"
)

// wildcard is a compiled pattern of gitignore(5). It is matched as a set of
// states, so that the time is bounded by its length times that of the text,
// whatever the pattern.
type wildcard struct {
	steps  []step
	ending string // what a text ends with, if it matches
}

// step is one part of a wildcard.
type step struct {
	kind stepKind
	set  byteSet // for oneOf
	c    byte    // for one
}

type stepKind uint8

const (
	_      stepKind = iota
	one             // the byte c
	oneOf           // a byte of the set
	single          // any byte but '/'
	some            // any bytes but '/', or none
	all             // any bytes, or none
	fork            // nothing, or skip the two steps after it
	forked = 3      // how far a fork skips, itself included
)

// compileWildcard reads a pattern. With paths, * and ? stop at a slash and two
// stars that are a whole component do not. It is not ok if the pattern cannot
// match anything: it ends in a backslash, or in a class that is not closed.
func compileWildcard(p string, paths bool) (w wildcard, ok bool) {
	for i := 0; i < len(p); {
		var next int
		switch p[i] {
		case '\\':
			if i+1 == len(p) {
				return w, false
			}
			w.add(step{kind: one, c: p[i+1]})
			next = i + 2
		case '?':
			w.add(step{kind: single})
			next = i + 1
		case '[':
			var set byteSet
			if set, next, ok = parseClass(p, i); !ok {
				return w, false
			}
			w.add(step{kind: oneOf, set: set})
		case '*':
			next = w.addStars(p, i, paths)
		default:
			w.add(step{kind: one, c: p[i]})
			next = i + 1
		}
		i = next
	}
	w.ending = endingOf(w.steps)
	return w, true
}

func (w *wildcard) add(s ...step) { w.steps = append(w.steps, s...) }

// addStars reads the stars at byte i of a pattern and says where they end.
func (w *wildcard) addStars(p string, i int, paths bool) (next int) {
	end := i
	for end < len(p) && p[end] == '*' {
		end++
	}
	whole := end-i > 1 && (i == 0 || p[i-1] == '/') && endsComponent(p[end:])
	switch {
	case !paths:
		w.add(step{kind: all})
	case !whole:
		w.add(step{kind: some})
	case strings.HasPrefix(p[end:], "/"): // any number of directories, also none
		w.add(step{kind: fork}, step{kind: all}, step{kind: one, c: '/'})
		return end + 1
	default:
		w.add(step{kind: all})
	}
	return end
}

func endsComponent(rest string) bool {
	return rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)
}

// endingOf is the literal text at the end of the steps. The slash of a fork is
// none.
func endingOf(steps []step) string {
	i := len(steps)
	for i > 0 && steps[i-1].kind == one && (i < forked || steps[i-forked].kind != fork) {
		i--
	}
	var b strings.Builder
	for _, s := range steps[i:] {
		b.WriteByte(s.c)
	}
	return b.String()
}

// match says whether the wildcard matches all of s.
func (w *wildcard) match(s string) bool {
	if !strings.HasSuffix(s, w.ending) {
		return false
	}
	const usual = 64
	var room [2][usual + 1]bool
	now, then := room[0][:], room[1][:]
	if n := len(w.steps) + 1; n > len(now) {
		now, then = make([]bool, n), make([]bool, n)
	}
	w.enter(now, 0)
	for i := 0; i < len(s); i++ {
		if !w.advance(now, then, s[i]) {
			return false
		}
		now, then = then, now
	}
	return now[len(w.steps)]
}

// advance gives the states after a byte, and clears those before it. It says
// whether there are any.
func (w *wildcard) advance(now, then []bool, c byte) (alive bool) {
	for i := range w.steps {
		if !now[i] {
			continue
		}
		now[i] = false
		switch s := &w.steps[i]; {
		case s.kind == one && s.c == c, s.kind == single && c != '/', s.kind == oneOf && s.set.has(c):
			w.enter(then, i+1)
			alive = true
		case s.kind == some && c != '/', s.kind == all:
			w.enter(then, i)
			alive = true
		}
	}
	now[len(w.steps)] = false
	return alive
}

// enter adds a state, and those that follow from it without a byte.
func (w *wildcard) enter(states []bool, i int) {
	for !states[i] {
		states[i] = true
		if i == len(w.steps) {
			return
		}
		switch w.steps[i].kind {
		case fork:
			w.enter(states, i+forked)
			i++
		case some, all:
			i++
		}
	}
}

// byteSet is what a class matches: bytes, not characters, as in git; never '/'.
type byteSet [4]uint64

func (s *byteSet) has(c byte) bool { return s[c/64]&(1<<(c%64)) != 0 }

func (s *byteSet) addRange(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s[c/64] |= 1 << (c % 64)
	}
}

// classes are the named classes of POSIX for ASCII; [[:space:]] is what git
// takes for white space.
var classes = map[string]string{
	"alnum":  "09AZaz",
	"alpha":  "AZaz",
	"blank":  "  \t\t",
	"cntrl":  "\x00\x1f\x7f\x7f",
	"digit":  "09",
	"graph":  "!~",
	"lower":  "az",
	"print":  " ~",
	"punct":  "!/:@[`{~",
	"space":  "\t\n\r\r  ",
	"upper":  "AZ",
	"xdigit": "09AFaf",
}

// parseClass reads the class that begins at byte i, and says where it ends. It
// is not ok if it is not closed, or names a class that does not exist.
func parseClass(p string, i int) (set byteSet, next int, ok bool) {
	i++
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first, before := true, byte(0); ; first = false {
		if i >= len(p) {
			return set, 0, false
		}
		if p[i] == ']' && !first {
			break
		}
		if before, i, ok = set.item(p, i, before); !ok {
			return set, 0, false
		}
	}
	for k := range set {
		if negated {
			set[k] = ^set[k]
		}
	}
	set['/'/64] &^= 1 << ('/' % 64)
	return set, i + 1, true
}

// item reads one item of a class, and says which byte a range may begin with
// after it: before is that of the item before, 0 if there is none.
func (s *byteSet) item(p string, i int, before byte) (byte, int, bool) {
	switch {
	case p[i] == '-' && before != 0 && i+1 < len(p) && p[i+1] != ']':
		c, next, ok := unescape(p, i+1)
		s.addRange(before, c)
		return 0, next, ok
	case strings.HasPrefix(p[i:], "[:"):
		name, after, closed := strings.Cut(p[i+2:], "]")
		if !closed {
			return 0, 0, false
		}
		if name, ok := strings.CutSuffix(name, ":"); ok {
			return 0, len(p) - len(after), s.addClass(name)
		}
	}
	c, next, ok := unescape(p, i)
	s.addRange(c, c)
	return c, next, ok
}

func (s *byteSet) addClass(name string) bool {
	ranges, ok := classes[name]
	for i := 0; i < len(ranges); i += 2 {
		s.addRange(ranges[i], ranges[i+1])
	}
	return ok
}

// unescape is the byte at i, or the one after it if it is a backslash.
func unescape(p string, i int) (c byte, next int, ok bool) {
	if p[i] != '\\' {
		return p[i], i + 1, true
	}
	if i+1 == len(p) {
		return 0, 0, false
	}
	return p[i+1], i + 2, true
}
