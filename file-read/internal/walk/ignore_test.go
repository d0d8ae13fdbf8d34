package walk

import (
	"strings"
	"testing"
)

func TestRulesOfOneFile(t *testing.T) {
	for _, c := range []struct {
		what, file, path string // a path that ends in a slash is a directory
		want             verdict
	}{
		{"a name is ignored at any depth", "foo", "a/b/foo", ignored},
		{"but only the whole name", "foo", "foobar", undecided},
		{"a slash at the front anchors", "/foo", "a/foo", undecided},
		{"a slash in the middle anchors too", "a/foo", "b/a/foo", undecided},
		{"a slash at the end is for directories", "foo/", "foo", undecided},
		{"and does not anchor", "foo/", "a/foo/", ignored},
		{"the last rule wins", "*.o\n!a.o", "a.o", included},
		{"whatever comes before it", "!a.o\n*.o", "a.o", ignored},
		{"a comment is no rule", "#foo", "#foo", undecided},
		{"unless its mark is escaped", `\#foo`, "#foo", ignored},
		{"an escaped exclamation mark is one", `\!foo`, "!foo", ignored},
		{"a star stays in its component", "a/*", "a/b/c", undecided},
		{"two stars in the middle are any number of directories", "a/**/b", "a/x/y/b", ignored},
		{"also none", "a/**/b", "a/b", ignored},
		{"two stars at the front", "**/b/c", "x/b/c", ignored},
		{"two stars at the end are what is inside", "a/**", "a/b/c", ignored},
		{"not the directory itself", "a/**", "a/", undecided},
		{"two stars within a name are one", "a/x**y", "a/x/y", undecided},
		{"a question mark is one character but no slash", "/a?c", "a/c", undecided},
		{"a class", "[a-c].o", "b.o", ignored},
		{"its complement", "[!a-c].o", "b.o", undecided},
		{"which never is a slash", "/a[!x]c", "a/c", undecided},
		{"a bracket first in a class is one of it", "[]-]x", "]x", ignored},
		{"a class of POSIX", "[[:digit:][:upper:]]", "Q", ignored},
		{"an unknown class matches nothing", "[[:foo:]]", "f", undecided},
		{"nor does a class that is not closed", "[a", "[a", undecided},
		{"nor a pattern that ends in a backslash", `a\`, `a\`, undecided},
		{"an escaped star is a star", `a\*`, "a*", ignored},
		{"and no more than that", `a\*`, "ab", undecided},
		{"spaces at the end do not count", "foo  ", "foo", ignored},
		{"unless escaped", `foo\ `, "foo ", ignored},
		{"a tab does", "foo\t", "foo", undecided},
		{"line ends of Windows do not count", "foo\r\nbar\r\n", "foo", ignored},
		{"a byte-order mark does not either", "\xEF\xBB\xBFfoo", "foo", ignored},
		{"an empty file says nothing", "", "foo", undecided},
		{"a slash alone says nothing", "/", "foo/", undecided},
		{"case matters", "FOO", "foo", undecided},
		{"bytes are characters", "?", "é", undecided},
	} {
		path, dir := strings.CutSuffix(c.path, "/")
		if got := parseRules(c.file).judgePath(path, dir); got != c.want {
			t.Errorf("%s: %q on %q gives %d, want %d", c.what, c.file, c.path, got, c.want)
		}
	}
}

func TestTheRulesNearestToAPathWin(t *testing.T) {
	top := (*scope)(nil).within(0, parseRules("*.o\n/sub/keep\n"))
	sub := top.within(len("sub/"), parseRules("!keep.o\n/x\n"))
	for path, want := range map[string]bool{"sub/a.o": true, "sub/keep.o": false, "sub/keep": true, "sub/x": true, "sub/sub/x": false} {
		i := strings.LastIndexByte(path, '/') + 1
		if got := sub.ignores(path[:i], path[i:], false); got != want {
			t.Errorf("%s: ignored %v", path, got)
		}
	}
}

// TestNoPatternExplodes counts on the test's time-out: by backtracking each of
// these would take longer than the universe has.
func TestNoPatternExplodes(t *testing.T) {
	for _, c := range []struct{ pattern, path string }{
		{strings.Repeat("*a", 1000) + "b", strings.Repeat("a", 4000)},
		{strings.Repeat("**/", 300) + "b/c", strings.Repeat("a/", 1500) + "b"},
		{"/" + strings.Repeat("**/*a*/", 100) + "b", strings.Repeat("aaa/", 1000)},
		{strings.Repeat("[a-z]*", 1000) + "[0-9]", strings.Repeat("a", 4000)},
	} {
		if got := parseRules(c.pattern).judgePath(c.path, false); got != undecided {
			t.Errorf("%.20s… matches", c.pattern)
		}
	}
}

// naive is a matcher by backtracking over the text of a pattern, of the kind
// that is easy to believe and can take for ever.
func naive(p, s string, atStart bool) bool {
	if p == "" {
		return s == ""
	}
	if p[0] == '*' {
		return naiveStars(p, s, atStart)
	}
	if s == "" {
		return false
	}
	switch p[0] {
	case '?':
		return s[0] != '/' && naive(p[1:], s[1:], false)
	case '\\':
		return len(p) > 1 && p[1] == s[0] && naive(p[2:], s[1:], p[1] == '/')
	case '[':
		set, next, ok := parseClass(p, 0)
		return ok && set.has(s[0]) && naive(p[next:], s[1:], false)
	}
	return p[0] == s[0] && naive(p[1:], s[1:], p[0] == '/')
}

func naiveStars(p, s string, atStart bool) bool {
	rest := strings.TrimLeft(p, "*")
	whole := atStart && len(p)-len(rest) > 1 && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if whole && strings.HasPrefix(rest, "/") && naive(rest[1:], s, true) {
		return true
	}
	for i := 0; i <= len(s); i++ {
		if naive(rest, s[i:], false) {
			return true
		}
		if i < len(s) && s[i] == '/' && !whole {
			return false
		}
	}
	return false
}

// FuzzIgnore: reading and matching never panic; a wildcard matches what
// backtracking says it does; and the property of the trailing slash holds: "x/" says
// of a directory what "x" says of it, and nothing of a file.
func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"foo", "*.o", "/a/**/b", "!x", "**/a", "a**/b", "[!a-c]x", `a\*b`, "[[:alpha:]-z]", "a/b*", "**", `**\/a`, "[a", "[]]", "***/x/?", "[\\]]"} {
		f.Add(s, "a/b/foo")
		f.Add(s, "ax.o")
	}
	f.Fuzz(func(t *testing.T, line, path string) {
		rs := parseRules(line)
		rs.judgePath(path, true)
		if strings.ContainsAny(line, "\n\x00") || len(line) > 30 || len(path) > 30 {
			return
		}
		if w, ok := compileWildcard(line, true); ok && w.match(path) != naive(line, path, true) {
			t.Errorf("%q matches %q: %v", line, path, w.match(path))
		}
		if strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\r") || strings.HasSuffix(line, "/") || line == "" {
			return
		}
		slashed := parseRules(line + "/")
		if got, want := slashed.judgePath(path, true), rs.judgePath(path, true); got != want {
			t.Errorf("%q with a slash at the end says %d of the directory %q, without %d", line, got, path, want)
		}
		if got := slashed.judgePath(path, false); got != undecided {
			t.Errorf("%q says %d of a file", line+"/", got)
		}
	})
}
