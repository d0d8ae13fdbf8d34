package walk

import (
	"strings"
)

// verdict is what rules mean for a path.
type verdict int

const (
	undecided verdict = iota
	ignored
	included // by a negated rule
)

// ruleKind is how the text of a rule is compared with a path.
type ruleKind int

const (
	_          ruleKind = iota
	wholeName           // the last component is the text
	nameEnding          // the last component ends in the text
	wholePath           // the path is the text
	nameGlob            // the last component matches
	pathGlob            // the path matches
)

// rule is one line of a .gitignore file.
type rule struct {
	kind    ruleKind
	negated bool
	dirOnly bool
	text    string // for the globs: what a path begins with, if it matches
	glob    wildcard
}

// rules are the lines of one .gitignore file that are patterns; later ones win.
type rules []rule

// parseRules reads a file as git does (gitignore(5), and dir.c of git where that
// is silent): lines end in LF or CRLF, also the last; a UTF-8 byte-order mark
// before the first is skipped; a NUL ends its line. Every file has a meaning: a
// line that is no valid pattern matches nothing.
func parseRules(data string) rules {
	var rs rules
	data = strings.TrimPrefix(data, "\xEF\xBB\xBF")
	for line := range strings.SplitSeq(data, "\n") {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if r, ok := parseRule(trimSpaces(line)); ok {
			rs = append(rs, r)
		}
	}
	return rs
}

// trimSpaces leaves out spaces at the end, up to one that a backslash escapes.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// parseRule reads a line. It is not ok if it can match nothing.
func parseRule(line string) (r rule, ok bool) {
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	special := strings.IndexAny(line, `*?[\`)
	switch {
	case line == "":
		return r, false
	case special < 0 && anchored:
		r.kind, r.text = wholePath, line
	case special < 0:
		r.kind, r.text = wholeName, line
	case !anchored && line[0] == '*' && !strings.ContainsAny(line[1:], `*?[\`):
		r.kind, r.text = nameEnding, line[1:]
	default:
		// Only what follows the literal start is compiled. git takes the two stars of
		// a** for a whole component because they begin what it matches with wildcards.
		r.kind, r.text = nameGlob, line[:special]
		if anchored {
			r.kind = pathGlob
		}
		r.glob, ok = compileWildcard(line[special:], anchored)
		return r, ok
	}
	return r, true
}

// judge is what the rules mean for an entry, itself not for what is under it.
// way leads from the rules' directory to the one it is in: "" or with a slash at the end.
func (rs rules) judge(way, name string, dir bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		r := &rs[i]
		if r.dirOnly && !dir || !r.matches(way, name) {
			continue
		}
		if r.negated {
			return included
		}
		return ignored
	}
	return undecided
}

func (r *rule) matches(way, name string) bool {
	switch r.kind {
	case wholeName:
		return name == r.text
	case nameEnding:
		return strings.HasSuffix(name, r.text)
	case wholePath:
		return len(way)+len(name) == len(r.text) && strings.HasPrefix(r.text, way) && r.text[len(way):] == name
	case nameGlob:
		rest, ok := strings.CutPrefix(name, r.text)
		return ok && r.glob.match(rest)
	case pathGlob:
		end := r.glob.ending
		if !strings.HasPrefix(way, r.text[:min(len(r.text), len(way))]) || !strings.HasSuffix(name, end) && !strings.HasSuffix(end, name) {
			return false // without joining the two, as for most
		}
		rest, ok := strings.CutPrefix(way+name, r.text)
		return ok && r.glob.match(rest)
	}
	return false
}

// scope is the rules that apply in a directory: its own, and before them, weaker,
// those of the directories above it, up to the top of the git work tree.
type scope struct {
	above *scope
	base  int // length of the way from the top to the rules' directory, with its slash
	rules rules
}

// within adds rules that win over s. Without any it is s itself.
func (s *scope) within(base int, rs rules) *scope {
	if len(rs) == 0 {
		return s
	}
	return &scope{s, base, rs}
}

// ignores says whether an entry is ignored. full is the path from the top of the
// directory it is in: "" or with a slash at the end. What is under an ignored
// directory has to be left out by not going there: no rule can include it again.
func (s *scope) ignores(full, name string, dir bool) bool {
	for ; s != nil; s = s.above {
		if v := s.rules.judge(full[s.base:], name, dir); v != undecided {
			return v == ignored
		}
	}
	return false
}
