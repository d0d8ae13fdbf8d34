//go:build linux || darwin

package confine_test

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// FuzzParse holds the properties of a name:
//
//   - Parse never panics, and its errors are ours;
//   - what it makes lies under the directory: no .., no control character;
//   - the caller's words read again are the same path, and Locate agrees;
//   - Child of a parsed path is what Parse makes of the joined name.
func FuzzParse(f *testing.F) {
	base := fixture(f, "allow/a/b/f", "allow/cafe\u0301", "allow/l => ../out", "allow/in => a")
	f.Setenv("HOME", base+"/allow/a")
	for _, name := range []string{
		"a/b/f", "../out/secret", base + "/allow/a", base + "/allow_evil", "file://" + base + "/allow/a%2f..%2f..", "~/b", "~x", "./~", "a\x00b",
		`C:\x`, `\\s\x`, "file:x", "a:b", "./file:x", "caf\u00e9", "l/secret", "in/b", "//a", "...", "a/./..//b", "https://x", "\xff", "private", ".env",
	} {
		f.Add(name, "f")
	}
	f.Add("a", "..")
	f.Add(".", "~")
	f.Add("/", "a/b")
	f.Add("a", `\\s\x`)
	f.Add("a", "C:")
	var all []*confine.Roots
	for _, o := range []confine.Options{
		{},
		{RelativeOnly: true, HidePaths: true},
		{Symlinks: confine.Within, Deny: []string{"private", "a/b/*", "~/x"}, DenySecrets: true},
	} {
		r, err := confine.Open([]string{base + "/allow"}, o)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, r)
	}
	f.Fuzz(func(t *testing.T, name, child string) {
		for _, r := range all {
			p, err := r.Parse(name)
			if err != nil {
				if code := fault.From(err).Code; code == fault.Internal {
					t.Fatalf("%q: %v", name, err)
				}
				r.Locate(name)
				continue
			}
			staysInside(t, base+"/allow", p)
			rereads(t, r, name, p)
			childIsJoin(t, r, p, child)
			if got, _ := content(p.Open()); strings.Contains(got, secret) {
				t.Fatalf("%q: ESCAPED", name)
			}
		}
	})
}

func staysInside(t *testing.T, root string, p confine.Path) {
	rel := p.Rel()
	if !filepath.IsLocal(rel) || path.Clean(rel) != rel || slices.Contains(strings.Split(rel, "/"), "..") {
		t.Fatalf("%q is not a clean way beneath", rel)
	}
	if strings.IndexFunc(rel, unicode.IsControl) >= 0 {
		t.Fatalf("%q has a control character", rel)
	}
	if p.Abs() != root && !strings.HasPrefix(p.Abs(), root+"/") {
		t.Fatalf("%q lies outside", p.Abs())
	}
}

func rereads(t *testing.T, r *confine.Roots, name string, p confine.Path) {
	again, err := r.Parse(p.String())
	if err != nil || again != p {
		t.Fatalf("%q is %q, which reads as %q, %v", name, p, again.Abs(), err)
	}
	if at := r.Locate(name); at != p.Abs() {
		t.Fatalf("%q is located at %q, parsed at %q", name, at, p.Abs())
	}
}

func childIsJoin(t *testing.T, r *confine.Roots, p confine.Path, name string) {
	c := p.Child(name)
	_, opened := content(c.Open())
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		if opened == nil {
			t.Fatalf("child %q of %q opens", name, p)
		}
		return
	}
	staysOrRefuses(t, c, opened)
	joined, err := r.Parse(strings.TrimSuffix(p.String(), "/") + "/" + name)
	if err == nil {
		if c != joined {
			t.Fatalf("child %q of %q is %q at %q, joined it is %q at %q", name, p, c, c.Abs(), joined, joined.Abs())
		}
		return
	}
	if opened == nil || fault.From(opened).Code != fault.From(err).Code {
		t.Fatalf("child %q of %q: %v, joined: %v", name, p, opened, err)
	}
}

// staysOrRefuses allows a control character only in a child that refuses to open.
func staysOrRefuses(t *testing.T, c confine.Path, opened error) {
	if strings.IndexFunc(c.Rel(), unicode.IsControl) >= 0 && opened == nil {
		t.Fatalf("%q opens", c)
	}
}
