package glob_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		what    string
		pattern string
		yes, no []string
	}{
		{"a plain name matches itself only", "a.go", []string{"a.go"}, []string{"a_go", "A.go", "x/a.go", "a.go/x", "a.go\n", ""}},
		{"a star stays within its component", "*.go", []string{"a.go", ".go", ".hidden.go"}, []string{"x/a.go", "a.goo", "go"}},
		{"a star may be none at all", "a*b", []string{"ab", "axb", "a\nb"}, []string{"a/b", "a", "b"}},
		{"a single star does not overlap head and tail", "ab*ba", []string{"abba", "ab-ba"}, []string{"aba"}},
		{"a question mark is one character, however many bytes it has", "?", []string{"a", "é", "日"}, []string{"", "/", "ab"}},
		{"two stars in a component are one star", "a**b", []string{"ab", "axb"}, []string{"a/b"}},
		{"three stars are one star", "***", []string{"ab", ""}, []string{"a/b"}},
		{"two stars alone match everything", "**", []string{"", "a", "a/b/c"}, nil},
		{"leading two stars are any depth, also none", "**/x", []string{"x", "a/x", "a/b/x"}, []string{"ax", "x/a"}},
		{"two stars between are any depth, also none", "a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"ab", "a/xb", "a/b/c"}},
		{"trailing two stars are everything beneath, not the directory", "a/**", []string{"a/b", "a/b/c"}, []string{"a", "ab", "b/a"}},
		{"two stars twice", "**/a/**/b", []string{"a/b", "x/a/y/z/b"}, []string{"x/b"}},
		{"any depth with a fixed parent", "**/.aws/credentials", []string{".aws/credentials", "/home/u/.aws/credentials"}, []string{"x.aws/credentials", "credentials", ".aws/x/credentials"}},
		{"any depth with a star", "**/.ssh/*", []string{".ssh/id", "/home/u/.ssh/id"}, []string{".ssh", ".ssh/a/b"}},
		{"a class", "[a-c]x", []string{"ax", "cx"}, []string{"dx", "-x"}},
		{"a negated class with !", "[!a]", []string{"b", "^"}, []string{"a", "/", ""}},
		{"a negated class with ^", "[^a-y]", []string{"z"}, []string{"b", "/"}},
		{"a bracket that stands first is a member", "[]x]", []string{"]", "x"}, []string{"[]x]"}},
		{"a dash that stands last is a member", "[a-]", []string{"a", "-"}, []string{"b"}},
		{"a class never matches a slash, even as part of a range", "a[.-0]b", []string{"a.b", "a0b"}, []string{"a/b"}},
		{"a class of a slash matches nothing", "a[/]b", nil, []string{"a/b", "ab"}},
		{"letters of a class are not RE2's", `[\d^&&]`, []string{"d", "^", "&"}, []string{"1", `\`}},
		{"braces are alternatives", "*.{ts,tsx}", []string{"a.ts", "a.tsx"}, []string{"a.t", "a.ts,tsx"}},
		{"braces nest", "{a,b{c,d}}", []string{"a", "bc", "bd"}, []string{"b", "abc"}},
		{"braces may hold slashes", "{a/**,b}/c", []string{"a/c", "a/x/y/c", "b/c"}, []string{"b/x/c"}},
		{"an alternative may be empty", "a{,.bak}", []string{"a", "a.bak"}, []string{"a."}},
		{"a comma outside braces is a comma", "a,b", []string{"a,b"}, []string{"a", "b"}},
		{"a closing brace alone is itself", "a}", []string{"a}"}, []string{"a"}},
		{"a brace within a class is a member", "[{,}]", []string{"{", ",", "}"}, []string{""}},
		{"an escape takes the meaning away", `\*\?\[\{a\\`, []string{`*?[{a\`}, []string{"xx[{a\\"}},
		{"characters of regular expressions are plain", "a+(b)|^$.", []string{"a+(b)|^$."}, []string{"aab", "a+(b)|^$x"}},
		{"an escaped letter beyond ASCII", `\é`, []string{"é"}, []string{"e"}},
	} {
		p, err := glob.Compile(c.pattern)
		if err != nil {
			t.Errorf("%s: %q: %v", c.what, c.pattern, err)
			continue
		}
		for _, rel := range c.yes {
			if !p.Match(rel) {
				t.Errorf("%s: %q does not match %q", c.what, c.pattern, rel)
			}
		}
		for _, rel := range c.no {
			if p.Match(rel) {
				t.Errorf("%s: %q matches %q", c.what, c.pattern, rel)
			}
		}
		if p.String() != c.pattern {
			t.Errorf("%s: String is %q", c.what, p.String())
		}
	}
}

func TestFolding(t *testing.T) {
	for _, c := range []struct {
		what    string
		pattern string
		yes, no []string
	}{
		{"a plain name", ".GIT", []string{".git", ".Git", ".GIT"}, []string{".gitx"}},
		{"head and tail around a star", "ID_*.Pub", []string{"id_rsa.pub", "Id_.PUB"}, []string{"id_rsa"}},
		{"any depth", "**/.Env", []string{".env", "a/.ENV"}, []string{"a/env"}},
		{"a class", "[A-C]", []string{"a", "B"}, []string{"d"}},
		{"letters that fold to ASCII: Kelvin sign and long s", "*.key", []string{"a.KEY", "a.\u212aey"}, []string{"a.kex"}},
		{"letters that fold to ASCII in a plain name", ".ssh", []string{".\u017fsh"}, nil},
		{"letters beyond ASCII", "É*", []string{"éa", "É"}, []string{"ea"}},
	} {
		p, err := glob.CompileFold(c.pattern)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		for _, rel := range c.yes {
			if !p.Match(rel) {
				t.Errorf("%s: %q does not match %q", c.what, c.pattern, rel)
			}
		}
		for _, rel := range c.no {
			if p.Match(rel) {
				t.Errorf("%s: %q matches %q", c.what, c.pattern, rel)
			}
		}
	}
}

func TestAnyOfSeveralPatterns(t *testing.T) {
	p, err := glob.CompileFoldAny("*.key", ".env", "a/**/b", "{x,y}")
	if err != nil {
		t.Fatal(err)
	}
	for rel, want := range map[string]bool{
		"s.KEY": true, ".Env": true, "a/q/B": true, "a/b": true, "X": true, "y": true, "s.\u212aey": true,
		"\u65e5\u672c.key": true, "\u65e5\u672c": false, "z": false, "s.keys": false, "": false,
	} {
		if p.Match(rel) != want {
			t.Errorf("%q: %v", rel, !want)
		}
	}
	if none, err := glob.CompileFoldAny(); err != nil || none.Match("") || none.Match("a") {
		t.Errorf("no patterns match something: %v", err)
	}
	if _, err := glob.CompileFoldAny("a", "["); !errors.Is(err, fault.ParamInvalid) {
		t.Errorf("a bad one among good ones: %v", err)
	}
}

func TestBadPatternsAreRefusedInWords(t *testing.T) {
	for _, c := range []struct{ what, pattern, says string }{
		{"empty", "", "is empty"},
		{"a class that is not closed", "[", "[ without a ]"},
		{"a class that holds only a bracket", "a[]", "[ without a ]"},
		{"a class whose end is escaped", `[a\]`, "[ without a ]"},
		{"a class within braces that is not closed", "{a,[b}", "[ without a ]"},
		{"a brace that is not closed", "{a,b", "{ without a }"},
		{"a lone backslash", `a\`, `lone \`},
		{"a range that runs backwards", "[z-a]", "backwards"},
		{"not UTF-8", "\xff", "UTF-8"},
		{"too long", strings.Repeat("a", glob.MaxPattern+1), "4096"},
		{"braces that explode", strings.Repeat("{a,b}", 40), "too many"},
		{"braces that explode although nothing is in them", strings.Repeat("{,,,}", 40), "too many"},
	} {
		_, err := glob.Compile(c.pattern)
		if !errors.Is(err, fault.ParamInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want PARAM_002 saying %q", c.what, err, c.says)
		}
	}
}

func TestTheZeroPatternMatchesNothing(t *testing.T) {
	for _, rel := range []string{"", "a", "a/b"} {
		if (glob.Pattern{}).Match(rel) {
			t.Errorf("it matches %q", rel)
		}
	}
}

func TestAnInvalidByteIsNotTheReplacementCharacter(t *testing.T) {
	for _, pattern := range []string{"\ufffd", "\ufffd?", "{\ufffd,\ufffd/**/x}"} {
		p, err := glob.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.Match("\xff") || p.Match("\xffa") {
			t.Errorf("%q matches an invalid byte", pattern)
		}
	}
}

// A pattern made to explode is matched in time that grows with the product of
// both lengths: this test would not end within the time of the universe in a
// matcher that backtracks.
func TestStarsDoNotExplode(t *testing.T) {
	p, err := glob.Compile(strings.Repeat("*a", 40) + "*b")
	if err != nil {
		t.Fatal(err)
	}
	if p.Match(strings.Repeat("a", 4000)) {
		t.Error("it matches without a b")
	}
	if !p.Match(strings.Repeat("a", 4000) + "b") {
		t.Error("it does not match with a b")
	}
}
