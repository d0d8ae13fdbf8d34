//go:build linux || darwin

package confine_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Through the gate a file is made where the directory that came out really is. What
// is told on success is the new file's place below the fixture.
func TestTheGateForWritersLeadsOnlyInside(t *testing.T) {
	within := confine.Options{Symlinks: confine.Within}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, c := range []struct {
			what string
			tree []string
			o    confine.Options
			name string
			want any // a code, or the entry's name there
			made string
		}{
			{"a new file in the allowed directory", nil, confine.Options{}, "f", "f", "allow/f"},
			{"a new file further down", []string{"allow/a/b/"}, confine.Options{}, "a/b/f", "f", "allow/a/b/f"},
			{"a new file, absolute", nil, confine.Options{}, "BASE/allow/f", "f", "allow/f"},
			{"the allowed directory itself has no entry", nil, confine.Options{}, ".", fault.ParamInvalid, ""},
			{"a directory that is missing", nil, confine.Options{}, "a/f", fault.NotFound, ""},
			{"a file taken for a directory", []string{"allow/a"}, confine.Options{}, "a/f", fault.ParamInvalid, ""},
			{"a link on the way", []string{"allow/l => ../out"}, confine.Options{}, "l/f", fault.Forbidden, ""},
			{"a link under the name", []string{"allow/l => ../out/f"}, confine.Options{}, "l", fault.Forbidden, ""},
			{"a link under the name, target inside", []string{"allow/f", "allow/l => f"}, confine.Options{}, "l", fault.Forbidden, ""},
			{"a link out on the way, followed", []string{"allow/l => ../out"}, within, "l/f", fault.OutsideAllowed, ""},
			{"a link out under the name, followed", []string{"allow/l => ../out/f"}, within, "l", fault.OutsideAllowed, ""},
			{"a link to a link out, followed", []string{"allow/l => m", "allow/m => ../out/f"}, within, "l", fault.OutsideAllowed, ""},
			{"a link to itself, followed", []string{"allow/l => l"}, within, "l", fault.Forbidden, ""},
			{"a link inside to what is not there yet", []string{"allow/a/", "allow/l => a/f"}, within, "l", "f", "allow/a/f"},
			{"a link inside on the way", []string{"allow/a/", "allow/l => a"}, within, "l/f", "f", "allow/a/f"},
			{"a denied name", nil, confine.Options{Deny: []string{"*.key"}}, "x.key", fault.OutsideAllowed, ""},
			{"a denied place, by a link on the way", []string{"allow/a/", "allow/l => a"}, confine.Options{Symlinks: confine.Within, Deny: []string{"a/f"}}, "l/f", fault.OutsideAllowed, ""},
			{"an exception of the secrets", []string{"allow/a/"}, confine.Options{DenySecrets: true}, "a/.env.example", ".env.example", "allow/a/.env.example"},
		} {
			base := fixture(t, c.tree...)
			got, err := madeThroughTheGate(roots(t, by, c.o, base), strings.ReplaceAll(c.name, "BASE", base))
			outcome(t, c.what, got, err, c.want)
			if c.made == "" {
				continue
			}
			var st unix.Stat_t
			if err := unix.Lstat(base+"/"+c.made, &st); err != nil {
				t.Errorf("%s: %s: %v", c.what, c.made, err)
			}
		}
	})
}

func TestWhereAnEntryLiesIsToldByTheDirectoryThatIsOpen(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/a/b/f", "allow/l => a", "allow/m => a/b/f", "allow/a/.env.example")
		r := roots(t, by, confine.Options{Symlinks: confine.Within, DenySecrets: true}, base)
		for name, want := range map[string]string{"a/b/f": "a/b/f", "l/b/f": "a/b/f", "m": "a/b/f", "new": "new", "l/.env.example": "a/.env.example"} {
			p, err := r.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			d, entry, err := p.OpenParent()
			if err != nil {
				t.Fatal(err)
			}
			real := d.Path().Child(entry)
			d.Close()
			if _, err := real.Stat(); real.Rel() != want || err != nil && name != "new" {
				t.Errorf("%s lies at %q, want %q; %v", name, real.Rel(), want, err)
			}
		}
	})
}

func madeThroughTheGate(r *confine.Roots, name string) (entry string, err error) {
	p, err := r.Parse(name)
	if err != nil {
		return "", err
	}
	d, entry, err := p.OpenParent()
	if err != nil {
		return "", err
	}
	defer d.Close()
	fd, giveBack, err := d.LendDir()
	if err != nil {
		return "", err
	}
	defer giveBack()
	made, err := unix.Openat(int(fd), entry, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err == nil {
		err = unix.Close(made)
	}
	return entry, err
}

func TestTheGateIsShutForPathsThatWereNeverParsed(t *testing.T) {
	base := fixture(t)
	r := roots(t, confine.ByWalk, confine.Options{}, base)
	p, err := r.Parse(".")
	if err != nil {
		t.Fatal(err)
	}
	for what, p := range map[string]confine.Path{"the zero path": {}, "a child that climbs": p.Child(".."), "a child of several": p.Child("a/b")} {
		if _, _, err := p.OpenParent(); err == nil {
			t.Errorf("%s opens", what)
		}
	}
	d := openDir(t, r, ".")
	d.Close()
	if _, _, err := d.LendDir(); err == nil {
		t.Error("a closed directory still hands out its descriptor")
	}
}

func TestAWriterIsToldWhichDirectoryIsMissing(t *testing.T) {
	base := fixture(t, "allow/sources/")
	r := roots(t, confine.ByWalk, confine.Options{}, base)
	p, err := r.Parse("source/new.go")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = p.OpenParent()
	outcome(t, "a slip of the hand", "", err, fault.NotFound)
	if detail(err, "path") != "source" || detail(err, "did_you_mean") != "sources" {
		t.Errorf("%v, meant %v", err, detail(err, "did_you_mean"))
	}
}
