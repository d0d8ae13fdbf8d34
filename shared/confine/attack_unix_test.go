//go:build linux || darwin

package confine_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestFilesOutsideStayUnread(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, c := range []struct {
			what string
			tree []string
			name string // BASE is the directory that holds allow/ and out/
			want any
		}{
			{"a file inside is read", []string{"allow/a/f"}, "a/f", "allow/a/f"},
			{"the same, absolute", []string{"allow/a/f"}, "BASE/allow/a/f", "allow/a/f"},
			{"dots that stay inside", []string{"allow/a/f", "allow/g"}, "a/.././a/../g", "allow/g"},
			{"a path that leaves and comes back", []string{"allow/f"}, "../allow/f", "allow/f"},
			{"a file outside", nil, "BASE/out/secret", fault.OutsideAllowed},
			{"the way out by dots", nil, "../out/secret", fault.OutsideAllowed},
			{"more dots than there are directories", nil, strings.Repeat("../", 40) + "etc/passwd", fault.OutsideAllowed},
			{"dots behind a directory that does not exist", nil, "none/../../out/secret", fault.OutsideAllowed},
			{"a sibling whose name begins alike", []string{"allow_evil/out/secret"}, "BASE/allow_evil/out/secret", fault.OutsideAllowed},
			{"a sibling by dots", []string{"allow_evil/out/secret"}, "../allow_evil/out/secret", fault.OutsideAllowed},
			{"a sibling with a trailing space", []string{"allow /out/secret"}, "BASE/allow /out/secret", fault.OutsideAllowed},
			{"a trailing space is part of a name", []string{"allow/f "}, "f ", "allow/f "},
			{"a leading space is part of a name", []string{"allow/f"}, " f", fault.NotFound},
			{"the root in other case", nil, "BASE/ALLOW/f", fault.OutsideAllowed},
			{"a link out", []string{"allow/l => ../out/secret"}, "l", fault.Forbidden},
			{"an absolute link out", []string{"allow/l => BASE/out/secret"}, "l", fault.Forbidden},
			{"a link to a directory outside", []string{"allow/l => ../out"}, "l/secret", fault.Forbidden},
			{"a link is refused even when its target is inside", []string{"allow/f", "allow/l => f"}, "l", fault.Forbidden},
			{"a link in the middle, target inside", []string{"allow/a/f", "allow/l => a"}, "l/f", fault.Forbidden},
			{"a link whose target is missing", []string{"allow/l => ../out/none"}, "l", fault.Forbidden},
			{"a link whose target is missing, inside", []string{"allow/l => none"}, "l", fault.Forbidden},
			{"a chain of links", []string{"allow/a => b", "allow/b => c", "allow/c => ../out/secret"}, "a", fault.Forbidden},
			{"a link to itself", []string{"allow/l => l"}, "l", fault.Forbidden},
			{"a link with a trailing slash", []string{"allow/l => ../out"}, "l/", fault.Forbidden},
			{"a link with a trailing slash and dot", []string{"allow/l => ../out"}, "l/.", fault.Forbidden},
			{"dots after a link are lexical: the file beside the link", []string{"allow/secret", "allow/l => ../out"}, "l/../secret", "allow/secret"},
			{"dots after a link do not reach what is beside its target", []string{"allow/l => ../out"}, "l/../out/secret", fault.NotFound},
			{"a file taken for a directory", []string{"allow/f"}, "f/x", fault.ParamInvalid},
			{"a directory taken for a file", []string{"allow/a/"}, "a", fault.ParamInvalid},
			{"the root taken for a file", nil, ".", fault.ParamInvalid},
			{"a FIFO", []string{"allow/p |"}, "p", fault.ParamInvalid},
			{"a socket", []string{"allow/s ="}, "s", fault.ParamInvalid},
			{"nothing there", nil, "f", fault.NotFound},
			{"no directory there", nil, "a/b/f", fault.NotFound},
			{"a component longer than any", nil, strings.Repeat("x", 300), fault.ParamInvalid},
			{"a path longer than is read", nil, strings.Repeat("x/", 20000), fault.ParamInvalid},
			{"the root of the process", nil, "/proc/self/root/etc/passwd", fault.OutsideAllowed},
			{"the environment of a process", nil, fmt.Sprintf("/proc/%d/environ", os.Getpid()), fault.OutsideAllowed},
			{"a device", nil, "/dev/zero", fault.OutsideAllowed},
			{"a name with a backslash is just a name", []string{`allow/a\b`}, `a\b`, `allow/a\b`},
			{"a name that is not UTF-8", []string{"allow/\xff"}, "\xff", "allow/\xff"},
		} {
			base := fixture(t, c.tree...)
			r := roots(t, by, confine.Options{}, base)
			got, err := read(r, strings.ReplaceAll(c.name, "BASE", base))
			outcome(t, c.what, got, err, c.want)
		}
	})
}

func TestTheLinkIsNamedInTheCallersWords(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/a/b/l => /etc", "allow/~/l => /etc")
		r := roots(t, by, confine.Options{}, base)
		for name, link := range map[string]string{
			"a/b/l/passwd":                      "a/b/l",
			"./a//b/l":                          "a/b/l",
			base + "/allow/a/b/l/passwd":        base + "/allow/a/b/l",
			"file://" + base + "/allow/a/b/l/x": base + "/allow/a/b/l",
			"./~/l":                             "./~/l",
		} {
			if _, err := read(r, name); detail(err, "link") != link || !errors.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v names %v, want %s", name, err, detail(err, "link"), link)
			}
		}
	})
}

func TestARootWithATrailingSpaceIsAnotherDirectory(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow /f", "allow/out/secret")
		r := roots(t, by, confine.Options{}, base, "allow ")
		got, err := read(r, base+"/allow /f")
		outcome(t, "inside", got, err, "allow /f")
		got, err = read(r, base+"/allow/out/secret")
		outcome(t, "the directory without the space", got, err, fault.OutsideAllowed)
	})
}

func TestBothSpellingsOfARootReachedThroughALinkWork(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "real/tree/f", "short => real")
		r := roots(t, by, confine.Options{}, base, "short/tree")
		for _, name := range []string{"f", base + "/short/tree/f", base + "/real/tree/f", base + "/short/tree/../tree/f"} {
			got, err := read(r, name)
			outcome(t, name, got, err, "real/tree/f")
		}
		got, err := read(r, base+"/real/other")
		outcome(t, "beside the tree", got, err, fault.OutsideAllowed)
	})
}

func TestARootSwappedAfterTheStartIsNotServed(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/f", "out/f")
		r := roots(t, by, confine.Options{}, base)
		if err := os.Rename(base+"/allow", base+"/moved"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("out", base+"/allow"); err != nil {
			t.Fatal(err)
		}
		got, err := read(r, base+"/allow/f")
		outcome(t, "the name leads outside, the descriptor does not", got, err, "allow/f")
		got, err = read(r, "secret")
		outcome(t, "what only the impostor has", got, err, fault.NotFound)
	})
}

func TestAnOpenDirectorySwappedForALinkIsStillItself(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/a/f", "out/f")
		p, err := roots(t, by, confine.Options{}, base).Parse("a")
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.OpenDir()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := errors.Join(os.Rename(base+"/allow/a", base+"/allow/b"), os.Symlink(base+"/out", base+"/allow/a")); err != nil {
			t.Fatal(err)
		}
		got, err := entry(d, "f")
		outcome(t, "through the open directory", got, err, "allow/a/f")
		got, err = content(p.Child("f").Open())
		outcome(t, "by its name", got, err, fault.Forbidden)
	})
}

// What would block is answered at once, a hundred at a time: a call that waited for
// a writer would hang this test.
func TestSpecialFilesNeverBlock(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/p |", "allow/s =", "allow/d/")
		r := roots(t, by, confine.Options{}, base)
		p, err := r.Parse(".")
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.OpenDir()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var wg sync.WaitGroup
		for range 100 {
			for _, name := range []string{"p", "s"} {
				wg.Go(func() {
					_, _, openErr := p.Child(name).Open()
					_, _, entryErr := d.Open(name)
					_, dirErr := p.Child(name).OpenDir()
					_, entryDirErr := d.OpenDir(name)
					for _, err := range []error{openErr, entryErr, dirErr, entryDirErr} {
						if !errors.Is(err, fault.ParamInvalid) {
							t.Errorf("%s: %v, want PARAM_002", name, err)
						}
					}
					if info, err := p.Child(name).Stat(); err != nil || info.Type != confine.Other {
						t.Errorf("%s: %v %v, want other", name, info.Type, err)
					}
				})
			}
		}
		wg.Wait()
	})
}
