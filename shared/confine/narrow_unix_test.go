//go:build linux || darwin

package confine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestNarrowIsTheIntersection(t *testing.T) {
	tree := []string{"allow/f", "allow/a/f", "allow/a/b/f", "allow/\u65e5 x/f", "also/f", "allow_evil/out/secret",
		"link => allow", "allow/in => a", "allow/out => ../out", "hop => also"}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, c := range []struct {
			what string
			to   []string // BASE is the directory that holds them all
			dirs []string // what is left
			yes  []string
			no   []string
		}{
			{"a directory within", []string{"BASE/allow/a"}, []string{"BASE/allow/a"}, []string{"f", "b/f", "BASE/allow/a/f"}, []string{"../f", "BASE/allow/f", "BASE/also/f"}},
			{"as a URI", []string{"file://BASE/allow/a"}, []string{"BASE/allow/a"}, []string{"f"}, []string{"../f"}},
			{"as a URI with a trailing slash", []string{"file://BASE/allow/a/"}, []string{"BASE/allow/a"}, []string{"f"}, []string{"../f"}},
			{"as a percent-encoded URI", []string{"file://BASE/allow/%E6%97%A5%20x"}, []string{"BASE/allow/\u65e5 x"}, []string{"f"}, []string{"../f"}},
			{"the allowed directory itself", []string{"BASE/allow"}, []string{"BASE/allow"}, []string{"f", "a/f"}, []string{"BASE/also/f"}},
			{"the whole disk is nothing more", []string{"file:///"}, []string{"BASE/allow", "BASE/also"}, []string{"f", "BASE/also/f"}, []string{"BASE/out/secret", "/etc/passwd"}},
			{"what contains them is nothing more", []string{"BASE"}, []string{"BASE/allow", "BASE/also"}, []string{"f"}, []string{"BASE/out/secret", "BASE/allow_evil/out/secret"}},
			{"something else", []string{"BASE/out"}, nil, nil, []string{"f", ".", "BASE/out/secret", "BASE/allow/f"}},
			{"the rest of the machine", []string{"file:///etc"}, nil, nil, []string{"f", "/etc/passwd"}},
			{"a sibling whose name begins alike", []string{"BASE/allow_evil"}, nil, nil, []string{"out/secret", "BASE/allow_evil/out/secret"}},
			{"dots out of an allowed directory", []string{"BASE/allow/../out"}, nil, nil, []string{"secret"}},
			{"encoded dots", []string{"file://BASE/allow/%2e%2e/out"}, nil, nil, []string{"secret"}},
			{"nothing", nil, nil, nil, []string{"f", "BASE/allow/f"}},
			{"some of it", []string{"file:///etc", "BASE/also"}, []string{"BASE/also"}, []string{"f"}, []string{"a/f"}},
			{"twice the same", []string{"BASE/also", "file://BASE/also"}, []string{"BASE/also"}, []string{"f"}, nil},
			{"a directory that does not exist yet", []string{"BASE/allow/new"}, []string{"BASE/allow/new"}, nil, []string{"f", "../f"}},
			{"an allowed directory through a link outside", []string{"BASE/link/a"}, []string{"BASE/link/a"}, []string{"f", "BASE/link/a/f", "BASE/allow/a/f"}, []string{"../f", "BASE/link/f"}},
			{"a link within to a directory within", []string{"BASE/allow/in"}, []string{"BASE/allow/in"}, []string{"f", "b/f"}, []string{"../f"}},
			{"a link within that leads out", []string{"BASE/allow/out"}, nil, nil, []string{"secret", "BASE/allow/out/secret"}},
			{"a link outside to another allowed directory", []string{"BASE/hop"}, []string{"BASE/also"}, []string{"f"}, []string{"a/f"}},
		} {
			base := fixture(t, tree...)
			in := func(list []string) (out []string) {
				for _, s := range list {
					out = append(out, strings.ReplaceAll(s, "BASE", base))
				}
				return out
			}
			n, err := roots(t, by, confine.Options{}, base, "allow", "also").Narrow(in(c.to))
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
				continue
			}
			if got := n.Dirs(); !slices.Equal(got, in(c.dirs)) {
				t.Errorf("%s: left are %v", c.what, got)
			}
			for _, name := range in(c.yes) {
				if got, err := read(n, name); err != nil || strings.Contains(got, secret) {
					t.Errorf("%s: %s: %q, %v", c.what, name, got, err)
				}
			}
			for _, name := range in(c.no) {
				if got, err := read(n, name); err == nil {
					t.Errorf("%s: %s opens: %q", c.what, name, got)
				}
			}
		}
	})
}

func TestNarrowRefusesWhatIsNoDirectoryName(t *testing.T) {
	r := roots(t, confine.ByWalk, confine.Options{}, fixture(t))
	for _, dir := range []string{"relative", "file://host/x", "file:///%zz", "https://x/", "/a\x00"} {
		if _, err := r.Narrow([]string{dir}); !errors.Is(err, fault.ParamMalformed) {
			t.Errorf("%s: %v, want PARAM_003", dir, err)
		}
	}
}

func TestNarrowingTwiceIsNarrowerStill(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/a/b/f", "allow/a/f", "allow/f")
		once, err := roots(t, by, confine.Options{}, base).Narrow([]string{base + "/allow/a"})
		if err != nil {
			t.Fatal(err)
		}
		twice, err := once.Narrow([]string{base + "/allow/a/b"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(twice, "f")
		outcome(t, "within both", got, err, "allow/a/b/f")
		wide, err := twice.Narrow([]string{"file:///", base + "/allow"})
		if err != nil {
			t.Fatal(err)
		}
		got, err = read(wide, base+"/allow/a/f")
		outcome(t, "within the first only", got, err, fault.OutsideAllowed)
	})
}

func TestNarrowedRootsKeepRulesOptionsAndLinksInside(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/a/private/f", "allow/a/f", "allow/f", "allow/a/l => ../f", "allow/a/m => f")
		r := roots(t, by, confine.Options{Symlinks: confine.Within, Deny: []string{"a/private"}, RelativeOnly: true}, base)
		n, err := r.Narrow([]string{base + "/allow/a"})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"f": "allow/a/f", "m": "allow/a/f", "l": fault.OutsideAllowed, "private/f": fault.OutsideAllowed, base + "/allow/a/f": fault.OutsideAllowed,
		} {
			got, err := read(n, name)
			outcome(t, name, got, err, want)
		}
		denied, err := r.Narrow([]string{base + "/allow/a/private"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(denied, "f")
		outcome(t, "narrowed to a denied directory", got, err, fault.OutsideAllowed)
	})
}

func TestADirectorySwappedForALinkAfterNarrowingIsRefused(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/later => ../out")
		// Named while it did not exist, as far as Narrow could tell.
		n, err := roots(t, by, confine.Options{}, base).Narrow([]string{base + "/allow/new"})
		if err != nil {
			t.Fatal(err)
		}
		if err := plant(t, base, "allow/new => ../out"); err != nil {
			t.Fatal(err)
		}
		got, err := read(n, "secret")
		outcome(t, "through the new link", got, err, fault.Forbidden)
	})
}

func TestClosingANarrowedRootsLeavesTheOthersOpen(t *testing.T) {
	base := fixture(t, "allow/f")
	r := roots(t, confine.ByWalk, confine.Options{}, base)
	n, err := r.Narrow([]string{"file:///"})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := read(r, "f")
	outcome(t, "after closing", got, err, "allow/f")
}
