//go:build linux || darwin

package confine_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// secret is the content of every file outside; seeing it is an escape.
const secret = "SECRET"

// fixture builds a tree in a fresh directory and returns it, free of links. Entries:
//
//	a/b/       a directory
//	a/f        a file that holds its own path, or secret where out/ is in the path
//	l => t     a symbolic link; BASE/ in t is the fresh directory
//	p |        a FIFO without a writer
//	s =        a socket
func fixture(t testing.TB, entries ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append([]string{"allow/", "out/secret"}, entries...) {
		if err := plant(t, base, e); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	return base
}

func plant(t testing.TB, base, entry string) error {
	name, target, isLink := strings.Cut(entry, " => ")
	at := base + "/" + name
	if err := os.MkdirAll(filepath.Dir(strings.TrimSuffix(at, "/")), 0o755); err != nil {
		return err
	}
	switch {
	case isLink:
		return os.Symlink(strings.ReplaceAll(target, "BASE", base), at)
	case strings.HasSuffix(entry, "/"):
		return os.MkdirAll(at, 0o755)
	case strings.HasSuffix(entry, " |"):
		return unix.Mkfifo(strings.TrimSuffix(at, " |"), 0o644)
	case strings.HasSuffix(entry, " ="):
		l, err := net.Listen("unix", strings.TrimSuffix(at, " ="))
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	case strings.Contains("/"+name, "/out/"):
		return os.WriteFile(at, []byte(secret), 0o644)
	}
	return os.WriteFile(at, []byte(name), 0o644)
}

// eachMechanism runs a test with the system call for whole paths and with the walk
// by components.
func eachMechanism(t *testing.T, test func(*testing.T, confine.Mechanism)) {
	for _, m := range []struct {
		name string
		by   confine.Mechanism
	}{{"whole path", confine.ByKernel}, {"component walk", confine.ByWalk}} {
		t.Run(m.name, func(t *testing.T) {
			if m.by == confine.ByKernel && !wholePathsWork(t) {
				t.Skip("this kernel has no openat2")
			}
			test(t, m.by)
		})
	}
}

func wholePathsWork(t *testing.T) bool {
	r, err := confine.Open([]string{t.TempDir()}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Chosen() == confine.ByKernel
}

// roots opens dirs below base, "allow" where none is given.
func roots(t testing.TB, by confine.Mechanism, o confine.Options, base string, dirs ...string) *confine.Roots {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{"allow"}
	}
	var full []string
	for _, d := range dirs {
		full = append(full, base+"/"+d)
	}
	r, err := confine.OpenBy(full, o, by)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// read parses, opens and reads a name.
func read(r *confine.Roots, name string) (string, error) {
	p, err := r.Parse(name)
	if err != nil {
		return "", err
	}
	var file confine.Reader
	return agreed(func() (string, error) { return content(p.Open()) },
		func() (string, error) { return through(&file, p.OpenReader(&file)) })
}

// entry opens and reads an entry.
func entry(d *confine.Dir, name string) (string, error) {
	var file confine.Reader
	return agreed(func() (string, error) { return content(d.Open(name)) },
		func() (string, error) { return through(&file, d.OpenReader(name, &file)) })
}

// agreed is what two ways of opening the same say; it is an error if they differ, but
// an escape by either is told first.
func agreed(one, other func() (string, error)) (string, error) {
	got, err := one()
	again, otherErr := other()
	switch {
	case strings.Contains(again, secret):
		return again, otherErr
	case got != again || fmt.Sprint(err) != fmt.Sprint(otherErr):
		return got, fmt.Errorf("opened as a file: %q, %v; by a reader: %q, %v", got, err, again, otherErr)
	}
	return got, err
}

// through is what can be read of a file that was opened with err.
func through(r *confine.Reader, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

func content(f *os.File, _ confine.Info, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// list parses, opens and lists a name; the names are in sorted order, one string.
func list(r *confine.Roots, name string) (string, error) {
	p, err := r.Parse(name)
	if err != nil {
		return "", err
	}
	d, err := p.OpenDir()
	if err != nil {
		return "", err
	}
	defer d.Close()
	return names(d)
}

// names is everything that is left in d, sorted, in one string.
func names(d *confine.Dir) (string, error) {
	var out []string
	for {
		entries, err := d.Next(3)
		if err == io.EOF {
			slices.Sort(out)
			return strings.Join(out, " "), nil
		}
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			out = append(out, e.Name)
		}
	}
}

// outcome checks a result against want: a fault.Code, or the content as a string.
func outcome(t *testing.T, what, got string, err error, want any) {
	t.Helper()
	if strings.Contains(got, secret) {
		t.Fatalf("%s: ESCAPED", what)
	}
	switch want := want.(type) {
	case fault.Code:
		if !errors.Is(err, want) {
			t.Errorf("%s: %q, %v; want %s", what, got, err, want)
		}
	case string:
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
}

// detail is a value of the details of an error of ours.
func detail(err error, key string) any {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Details[key]
	}
	return nil
}
