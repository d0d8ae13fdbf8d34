//go:build linux || darwin

package confine_test

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
)

// FuzzSieve holds the property of the short way round the deny rules: what it spares, no
// rule names.
func FuzzSieve(f *testing.F) {
	base := fixture(f)
	f.Setenv("HOME", base+"/allow/home")
	var all []*confine.Roots
	for _, deny := range [][]string{
		nil,
		{"private", "*.secret", "x*y", "a?c", "[k-m]*", "{one,two}.txt"},
		{"a/b", "a/*", "**/c/d*", "d/{e,f}", "{g,h/i}/j", "b/**/k", "**/m/**/*", "~/n", "~/o/*", "*/p"},
		{"\u00e9*", "S", "kelvin", "**/.SSH/K*", `q\*`, `r/\[s`, "**x"},
	} {
		for _, secrets := range []bool{false, true} {
			r, err := confine.Open([]string{base + "/allow"}, confine.Options{Deny: deny, DenySecrets: secrets})
			if err != nil {
				f.Fatal(err)
			}
			f.Cleanup(func() { r.Close() })
			all = append(all, r)
		}
	}
	denied, readable := confine.SecretTable()
	for _, pattern := range append(denied, readable...) {
		dir, name := "", strings.ReplaceAll(strings.ReplaceAll(pattern, "**/", "x/"), "*", "y")
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			dir, name = name[:i], name[i+1:]
		}
		f.Add(dir, name)
		f.Add(dir, strings.ToUpper(name))
	}
	for _, path := range []string{"/private", "/PRIVATE", "/x.SECRET", "/xyy", "/abc", "/L", "/two.txt", "a/b", "a/z", "q/c/dd", "d/f", "h/i/j", "b/k", "b/c/k", "m/x", "u/m/v/w",
		"home/n", "home/o/x", "z/p", "/\u00e9", "/\u017f", "/\u212aelvin", ".\u017fsh/\u212a", "/q*", "r/[s", "/yx", "/f", "/main.go", "/a\nb"} {
		i := strings.LastIndexByte(path, '/')
		f.Add(path[:i], path[i+1:])
	}
	f.Fuzz(func(t *testing.T, dir, name string) {
		for i, r := range all {
			spared, named := r.Judged(dir, name)
			if spared && named {
				t.Errorf("rules %d: %q in %q is spared, but denied", i, name, dir)
			}
		}
	})
}

func TestTheSieveSparesWhatIsCommon(t *testing.T) {
	r := roots(t, confine.ByWalk, confine.Options{DenySecrets: true, Deny: []string{"node_modules", "*.bak", "docs/private"}}, fixture(t))
	for _, path := range []string{"a/main.go", "a/README.md", "a/index.ts", "src/lib.rs", "x/.gitignore", "x/package.json", "x/y/z.py", "a/Makefile"} {
		i := strings.LastIndexByte(path, '/')
		if spared, _ := r.Judged(path[:i], path[i+1:]); !spared {
			t.Errorf("%s is judged in full", path)
		}
	}
}
