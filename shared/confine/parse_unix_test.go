//go:build linux || darwin

package confine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// spelling is one row: a name, and the path that it means, in the caller's words
// and under the allowed directory, or the code of its refusal.
type spelling struct {
	what, name string
	want       any // fault.Code, or Path.String as a string
	opens      string
}

// spelled checks rows, and that what a path calls itself reads as that path again.
func spelled(t *testing.T, r *confine.Roots, abs string, rows []spelling) {
	t.Helper()
	for _, c := range rows {
		p, err := r.Parse(c.name)
		if code, isCode := c.want.(fault.Code); isCode {
			if !errors.Is(err, code) {
				t.Errorf("%s: %q, %v; want %s", c.what, p, err, code)
			}
			continue
		}
		if err != nil || p.String() != c.want || p.Abs() != abs+c.opens {
			t.Errorf("%s: %q at %q, %v; want %q", c.what, p, p.Abs(), err, c.want)
		}
		if again, err := r.Parse(p.String()); err != nil || again.Abs() != p.Abs() {
			t.Errorf("%s: %q read again is %q, %v", c.what, p, again.Abs(), err)
		}
	}
}

func TestParse(t *testing.T) {
	base := fixture(t, "allow/home/f")
	t.Setenv("HOME", base+"/allow/home")
	abs := base + "/allow"
	spelled(t, roots(t, confine.ByWalk, confine.Options{}, base), abs, []spelling{
		{"relative", "a/b", "a/b", "/a/b"},
		{"cleaned", "./a//b/./c/..", "a/b", "/a/b"},
		{"a trailing slash", "a/", "a", "/a"},
		{"the directory itself", ".", ".", ""},
		{"absolute", abs + "/a//b", abs + "/a/b", "/a/b"},
		{"absolute, the directory itself", abs + "/", abs, ""},
		{"the home", "~", "~", "/home"},
		{"beneath the home", "~/a/../b", "~/b", "/home/b"},
		{"above the home", "~/../x", abs + "/x", "/x"},
		{"far above the home", "~/../../../x", fault.OutsideAllowed, ""},
		{"another user's home is a name like any other", "~root/x", "./~root/x", "/~root/x"},
		{"a tilde that is a name", "./~/x", "./~/x", "/~/x"},
		{"empty", "", fault.ParamInvalid, ""},
		{"a space", " ", " ", "/ "},

		{"NUL", "a\x00b", fault.ParamMalformed, ""},
		{"a line break", "a\nb", fault.ParamMalformed, ""},
		{"a tab", "a\tb", fault.ParamMalformed, ""},
		{"an escape code", "\x1b[31m", fault.ParamMalformed, ""},
		{"delete", "a\x7f", fault.ParamMalformed, ""},
		{"a C1 control", "a\u009bb", fault.ParamMalformed, ""},
		{"a bidirectional mark is no control character", "a\u202eb", "a\u202eb", "/a\u202eb"},

		{"a Windows path", `C:\Windows\system.ini`, fault.ParamMalformed, ""},
		{"a Windows path with slashes", `c:/Windows`, fault.ParamMalformed, ""},
		{"a share", `\\server\share\x`, fault.ParamMalformed, ""},
		{"a device path", `\\?\C:\x`, fault.ParamMalformed, ""},
		{"a colon in a name", "a:b", "./a:b", "/a:b"},
		{"a colon later", "x/a:b", "x/a:b", "/x/a:b"},
	})
}

func TestParseReadsURIs(t *testing.T) {
	base := fixture(t)
	abs := base + "/allow"
	spelled(t, roots(t, confine.ByWalk, confine.Options{}, base), abs, []spelling{
		{"a URI", "file://" + abs + "/a", abs + "/a", "/a"},
		{"a URI of this host", "file://localhost" + abs + "/a", abs + "/a", "/a"},
		{"a URI without an authority", "file:" + abs + "/a", abs + "/a", "/a"},
		{"a URI in capitals", "FILE://" + abs + "/a", abs + "/a", "/a"},
		{"a URI, percent-encoded", "file://" + abs + "/a%20%25%E6%97%A5", abs + "/a %日", "/a %日"},
		{"a URI with a plus, which is no space", "file://" + abs + "/a+b", abs + "/a+b", "/a+b"},
		{"a URI with encoded dots and slashes", "file://" + abs + "/%2e%2e%2fout%2Fsecret", fault.OutsideAllowed, ""},
		{"a URI encoded twice is decoded once", "file://" + abs + "/%252e%252e", abs + "/%2e%2e", "/%2e%2e"},
		{"a URI with a bad encoding", "file://" + abs + "/%zz", fault.ParamMalformed, ""},
		{"a URI with a cut encoding", "file://" + abs + "/%2", fault.ParamMalformed, ""},
		{"a URI with an encoded NUL", "file://" + abs + "/a%00", fault.ParamMalformed, ""},
		{"a URI with an encoded line break", "file://" + abs + "/a%0Ab", fault.ParamMalformed, ""},
		{"a URI of another host", "file://server" + abs + "/a", fault.ParamMalformed, ""},
		{"a URI with a query", "file://" + abs + "/a?b", fault.ParamMalformed, ""},
		{"a URI with a fragment", "file://" + abs + "/a#b", fault.ParamMalformed, ""},
		{"a URI with encoded marks", "file://" + abs + "/a%3Fb%23c", abs + "/a?b#c", "/a?b#c"},
		{"a relative URI", "file:a", fault.ParamMalformed, ""},
		{"a URI of nothing", "file:", fault.ParamMalformed, ""},
		{"a URI of the whole disk", "file:///", fault.OutsideAllowed, ""},
		{"another scheme", "https://example.com/x", fault.ParamMalformed, ""},
		{"marks outside a URI are plain", "a?b#c%20", "a?b#c%20", "/a?b#c%20"},
	})
}

func TestOnlyRelativePathsWhereThatIsAsked(t *testing.T) {
	base := fixture(t, "allow/f")
	t.Setenv("HOME", base+"/allow")
	r := roots(t, confine.ByWalk, confine.Options{RelativeOnly: true}, base)
	for _, name := range []string{"/x", base + "/allow/f", "~", "~/f", "file://" + base + "/allow/f", "..", "a/../f", "a/.."} {
		if _, err := r.Parse(name); !errors.Is(err, fault.OutsideAllowed) {
			t.Errorf("%s: %v, want SECURITY_002", name, err)
		}
	}
	for _, name := range []string{"f", "./f", "a..b", "...", "~x"} {
		if _, err := r.Parse(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARelativeNameMeansTheFirstDirectoryInWhichItExists(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "one/both", "two/both", "two/second", "two/l => ../out/secret", "one/file", "two/file/x", "two/cafe\u0301")
		r := roots(t, by, confine.Options{}, base, "one", "two")
		for name, want := range map[string]string{
			"both": "one/both", "second": "two/second", "new": "one/new", "l": "two/l", "file/x": "two/file/x",
			".": "one", "caf\u00e9": "two/caf\u00e9", "../two/both": "two/both",
		} {
			p, err := r.Parse(name)
			if err != nil || p.Abs() != base+"/"+want {
				t.Errorf("%s is %s, %v; want %s", name, p.Abs(), err, want)
			}
		}
	})
}

func TestTheInnermostDirectoryIsMeantWhereTheyNest(t *testing.T) {
	base := fixture(t, "allow/in/f")
	r := roots(t, confine.ByWalk, confine.Options{}, base, "allow", "allow/in")
	p, err := r.Parse(base + "/allow/in/f")
	if err != nil || p.Rel() != "f" {
		t.Errorf("%q, %v", p.Rel(), err)
	}
}

func TestLocateIsForTheAuditLogAndNeverFails(t *testing.T) {
	base := fixture(t)
	t.Setenv("HOME", "/home/someone")
	r := roots(t, confine.ByWalk, confine.Options{Deny: []string{"private"}}, base)
	for name, want := range map[string]string{
		"a/../b": base + "/allow/b", "private": base + "/allow/private", "../out": base + "/out",
		"/etc//passwd": "/etc/passwd", "~/x": "/home/someone/x", "file:///etc/pass%77d": "/etc/passwd",
		"": "", "a\x00": "a\x00", "file://host/x": "file://host/x", `C:\x`: `C:\x`,
	} {
		if got := r.Locate(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := (&confine.Roots{}).Locate("a"); got != "a" {
		t.Errorf("without directories: %q", got)
	}
}

func TestChildIsOneComponentAndJudgedAsParseWould(t *testing.T) {
	base := fixture(t, "allow/a/f", "allow/a/private")
	r := roots(t, confine.ByWalk, confine.Options{Deny: []string{"private"}}, base)
	p, err := r.Parse("a")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"f": "allow/a/f", "none": fault.NotFound, "private": fault.OutsideAllowed,
		"": fault.ParamMalformed, ".": fault.ParamMalformed, "..": fault.ParamMalformed, "f/..": fault.ParamMalformed,
		"/f": fault.ParamMalformed, "../../out/secret": fault.ParamMalformed, "a\x00": fault.ParamMalformed, "a\n": fault.ParamMalformed,
	} {
		c := p.Child(name)
		got, err := content(c.Open())
		outcome(t, "child "+name, got, err, want)
		if strings.Contains(c.Rel(), "..") {
			t.Errorf("%q has %q", name, c.Rel())
		}
		got, err = content(c.Child("x").Open())
		if err == nil {
			t.Errorf("child of child %q: %q", name, got)
		}
	}
}

func TestParentsEndAtTheAllowedDirectory(t *testing.T) {
	base := fixture(t, "a/b/c/f")
	r := roots(t, confine.ByKernel, confine.Options{}, base)
	for _, c := range []struct{ name, words string }{
		{"a/b/c", "a/b a ."},
		{"f", "."},
		{".", ""},
		{base + "/allow/a/b", base + "/allow/a " + base + "/allow"},
		{"../allow/a", "../allow"},
	} {
		p, err := r.Parse(c.name)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for up, ok := p.Parent(); ok; up, ok = up.Parent() {
			words = append(words, up.String())
		}
		if got := strings.Join(words, " "); got != c.words {
			t.Errorf("above %s: %q, want %q", c.name, got, c.words)
		}
	}
	if up, ok := (confine.Path{}).Parent(); ok {
		t.Errorf("the zero path is in %q", up)
	}
}

func TestTheZeroPathRefuses(t *testing.T) {
	var p confine.Path
	_, _, openErr := p.Open()
	_, dirErr := p.OpenDir()
	_, statErr := p.Stat()
	_, _, childErr := p.Child("x").Open()
	for _, err := range []error{openErr, dirErr, statErr, childErr} {
		if !errors.Is(err, fault.Internal) {
			t.Errorf("%v, want SYSTEM_001", err)
		}
	}
	if p.String() != "" || p.Abs() != "" || p.Rel() != "" {
		t.Errorf("it is %q at %q, %q", p, p.Abs(), p.Rel())
	}
}
