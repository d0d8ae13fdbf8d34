//go:build linux || darwin

package confine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestLinksWithinAreFollowedAndOthersAreNot(t *testing.T) {
	chain := func(links int) (tree []string) {
		for i := range links {
			tree = append(tree, fmt.Sprintf("allow/l%d => l%d", i, i+1))
		}
		return append(tree, fmt.Sprintf("allow/l%d", links))
	}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, c := range []struct {
			what string
			tree []string
			name string
			want any
		}{
			{"a link to a file", []string{"allow/f", "allow/l => f"}, "l", "allow/f"},
			{"a link to a directory", []string{"allow/a/f", "allow/l => a"}, "l/f", "allow/a/f"},
			{"a link in a directory, relative to it", []string{"allow/f", "allow/a/b/l => ../../f"}, "a/b/l", "allow/f"},
			{"an absolute link", []string{"allow/a/f", "allow/l => BASE/allow/a"}, "l/f", "allow/a/f"},
			{"links behind links", []string{"allow/a/m => ../b", "allow/b/f", "allow/l => a/m"}, "l/f", "allow/b/f"},
			{"a link to the allowed directory itself", []string{"allow/f", "allow/a/l => .."}, "a/l/f", "allow/f"},
			{"a link out and back in by name", []string{"allow/f", "allow/l => ../allow/f"}, "l", "allow/f"},
			{"a link into another allowed directory", []string{"also/f", "allow/l => ../also/f"}, "l", "also/f"},
			{"forty links", chain(40), "l0", "allow/l40"},
			{"more than forty links", chain(41), "l0", fault.Forbidden},
			{"a link to itself", []string{"allow/l => l"}, "l", fault.Forbidden},
			{"a circle", []string{"allow/a => b", "allow/b => a"}, "a/f", fault.Forbidden},
			{"a link out", []string{"allow/l => ../out/secret"}, "l", fault.OutsideAllowed},
			{"an absolute link out", []string{"allow/l => BASE/out"}, "l/secret", fault.OutsideAllowed},
			{"a chain that ends outside", []string{"allow/a => b", "allow/b => ../out/secret"}, "a", fault.OutsideAllowed},
			{"a chain through a directory outside that comes back", []string{"allow/f", "out/back => ../allow", "allow/l => ../out/back/f"}, "l", fault.OutsideAllowed},
			{"a link to a sibling whose name begins alike", []string{"allow_evil/out/secret", "allow/l => ../allow_evil/out/secret"}, "l", fault.OutsideAllowed},
			{"a link to something missing outside tells nothing", []string{"allow/l => ../out/none"}, "l", fault.OutsideAllowed},
			{"a link to something missing inside", []string{"allow/l => none"}, "l", fault.NotFound},
			{"a link with a trailing slash", []string{"allow/l => ../out"}, "l/", fault.OutsideAllowed},
			{"a target in which dots follow a name is not guessed at", []string{"allow/f", "allow/m => ../out", "allow/l => m/../f"}, "l", fault.Forbidden},
			{"a target with a control character", []string{"allow/a\nb", "allow/l => a\nb"}, "l", fault.Forbidden},
			{"a link to a FIFO", []string{"allow/p |", "allow/l => p"}, "l", fault.ParamInvalid},
			{"a link to a denied file", []string{"allow/private/f", "allow/l => private/f"}, "l", fault.OutsideAllowed},
			{"a denied link to a file that is not", []string{"allow/f", "allow/private => f"}, "private", fault.OutsideAllowed},
		} {
			base := fixture(t, append(c.tree, "also/")...)
			r := roots(t, by, confine.Options{Symlinks: confine.Within, Deny: []string{"private"}}, base, "allow", "also")
			got, err := read(r, c.name)
			outcome(t, c.what, got, err, c.want)
		}
	})
}

func TestAFollowedDirectoryKeepsTheCallersWords(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/a/b/f", "allow/a/m => b", "allow/a/bad => ../../out", "allow/l => a")
		r := roots(t, by, confine.Options{Symlinks: confine.Within}, base)
		p, err := r.Parse("l")
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.OpenDir()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if d.Path().String() != "l" || d.Path().Child("b").String() != "l/b" || d.Path().Base() != "l" {
			t.Errorf("the path is %q", d.Path())
		}
		got, err := content(d.Path().Child("b").Child("f").Open())
		outcome(t, "a child of the followed directory", got, err, "allow/a/b/f")
		sub, err := d.OpenDir("m")
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		got, err = entry(sub, "f")
		outcome(t, "an entry that is a link to a directory", got, err, "allow/a/b/f")
		_, err = d.OpenDir("bad")
		outcome(t, "an entry that leads outside", "", err, fault.OutsideAllowed)
	})
}

func TestHiddenPathsStayHiddenBehindLinks(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/l => a/m", "allow/a/m => ../../out", "allow/n => a/none")
		r := roots(t, by, confine.Options{Symlinks: confine.Within, HidePaths: true}, base)
		for _, name := range []string{"l/secret", "n", "../x", "f", "a/m/x"} {
			_, err := read(r, name)
			if err == nil {
				t.Fatalf("%s: the attack did not run", name)
			}
			if text := fmt.Sprint(err, fault.From(err).Details); strings.Contains(text, base) {
				t.Errorf("%s: %s", name, text)
			}
		}
	})
}
