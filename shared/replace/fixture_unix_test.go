//go:build linux || darwin

package replace_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// fixture builds a tree in a fresh directory and returns it, free of links. Entries:
//
//	a/b/          a directory
//	a/f: text     a file
//	l => t        a symbolic link
//
// allow/ is the allowed directory and out/secret must stay as it is.
func fixture(t testing.TB, entries ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append([]string{"allow/", "out/secret: SECRET"}, entries...) {
		plant(t, base, e)
	}
	t.Cleanup(func() {
		if got := content(base + "/out/secret"); got != "SECRET" || names(t, base+"/out") != "secret" {
			t.Errorf("ESCAPED: out/ holds %s, out/secret holds %q", names(t, base+"/out"), got)
		}
	})
	return base
}

func plant(t testing.TB, base, entry string) {
	t.Helper()
	at := base + "/" + entry
	var err error
	if name, target, ok := strings.Cut(at, " => "); ok {
		err = os.Symlink(target, name)
	} else if name, text, ok := strings.Cut(at, ": "); ok {
		if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			err = os.WriteFile(name, []byte(text), 0o644)
		}
	} else {
		err = os.MkdirAll(at, 0o755)
	}
	if err != nil {
		t.Fatalf("%s: %v", entry, err)
	}
}

func roots(t testing.TB, dir string, o confine.Options) *confine.Roots {
	t.Helper()
	r, err := confine.Open([]string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func path(t testing.TB, r *confine.Roots, name string) confine.Path {
	t.Helper()
	p, err := r.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// only is a fixture of one path below allow/.
func only(t testing.TB, name string, entries ...string) (base string, p confine.Path) {
	base = fixture(t, entries...)
	return base, path(t, roots(t, base+"/allow", confine.Options{}), name)
}

// eachWay runs a test with all that the file system offers, and without.
func eachWay(t *testing.T, test func(t *testing.T, w *replace.Writer)) {
	for _, way := range []struct {
		name                         string
		unnamed, exclusive, exchange bool
	}{
		{"all functions", false, false, false},
		{"no unnamed files", true, false, false},
		{"nor exclusive renaming", true, true, false},
		{"nor exchanging", true, true, true}, // NFS, 9p
	} {
		t.Run(way.name, func(t *testing.T) {
			var w replace.Writer
			w.Without(way.unnamed, way.exclusive, way.exchange)
			test(t, &w)
			if n := w.Waiting(); n != 0 {
				t.Errorf("%d entries are still being changed", n)
			}
		})
	}
}

func content(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(b)
}

// names is what a directory holds, sorted, in one string.
func names(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func expecting(text string) replace.Options { return replace.Options{ExpectedSHA256: hash(text)} }

// becoming is a change that makes text of whatever was there.
func becoming(text string) func([]byte, confine.Info) ([]byte, error) {
	return func([]byte, confine.Info) ([]byte, error) { return []byte(text), nil }
}

func detail(err error, key string) any {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Details[key]
	}
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var background = context.Background()
