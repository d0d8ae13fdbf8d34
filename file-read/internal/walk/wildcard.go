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
		switch p[i] {
		case '?':
			w.steps = append(w.steps, step{kind: single})
			i++
		case '[':
			var set byteSet
			if set, i, ok = parseClass(p, i); !ok {
				return w, false
			}
			w.steps = append(w.steps, step{kind: oneOf, set: set})
		case '*':
			i = w.addStars(p, i, paths)
		default:
			var c byte
			if c, i, ok = unescape(p, i); !ok {
				return w, false
			}
			w.steps = append(w.steps, step{kind: one, c: c})
		}
	}

	// The literal text at the end; the slash of a fork is not part of it.
	i := len(w.steps)
	for i > 0 && w.steps[i-1].kind == one && (i < forked || w.steps[i-forked].kind != fork) {
		i--
		w.ending = string([]byte{w.steps[i].c}) + w.ending
	}
	return w, true
}

// addStars reads the stars that begin at byte i, and returns where they end.
func (w *wildcard) addStars(p string, i int, paths bool) (next int) {
	rest := strings.TrimLeft(p[i:], "*")
	next = len(p) - len(rest)
	component := next-i > 1 && (i == 0 || p[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	switch {
	case paths && !component:
		w.steps = append(w.steps, step{kind: some})
	case paths && strings.HasPrefix(rest, "/"): // any number of directories, also none
		w.steps = append(w.steps, step{kind: fork}, step{kind: all}, step{kind: one, c: '/'})
		next++
	default:
		w.steps = append(w.steps, step{kind: all})
	}
	return next
}

// match reports whether the wildcard matches all of s.
func (w *wildcard) match(s string) bool {
	if !strings.HasSuffix(s, w.ending) {
		return false
	}
	const usual = 64
	var room [2][usual + 1]bool
	now, then := room[0][:], room[1][:] // the states before a byte, and after it
	if n := len(w.steps) + 1; n > len(now) {
		now, then = make([]bool, n), make([]bool, n)
	}
	w.enter(now, 0)
	for k := 0; k < len(s); k++ {
		c, alive := s[k], false
		for i := range w.steps {
			if !now[i] {
				continue
			}
			now[i] = false
			switch s := &w.steps[i]; {
			case s.kind == one && s.c == c, s.kind == single && c != '/', s.kind == oneOf && s.set[c/64]&(1<<(c%64)) != 0:
				w.enter(then, i+1)
				alive = true
			case s.kind == some && c != '/', s.kind == all:
				w.enter(then, i)
				alive = true
			}
		}
		if !alive {
			return false
		}
		now[len(w.steps)] = false
		now, then = then, now
	}
	return now[len(w.steps)]
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
	if negated {
		for k := range set {
			set[k] = ^set[k]
		}
	}
	set['/'/64] &^= 1 << ('/' % 64)
	return set, i + 1, true
}

// item reads one item of a class, and returns which byte a range may begin with
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
			ranges, ok := classes[name]
			for i := 0; i < len(ranges); i += 2 {
				s.addRange(ranges[i], ranges[i+1])
			}
			return 0, len(p) - len(after), ok
		}
	}
	c, next, ok := unescape(p, i)
	s.addRange(c, c)
	return c, next, ok
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
