//go:build linux || darwin

package confine_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestDirectoriesThatCannotBeServedStopTheStart(t *testing.T) {
	base := fixture(t, "allow/f", "dangling => none", "filelink => allow/f")
	for _, c := range []struct {
		what string
		dirs []string
	}{
		{"none", nil},
		{"an empty name", []string{""}},
		{"a missing one", []string{base + "/none"}},
		{"a file", []string{base + "/allow/f"}},
		{"a dangling link", []string{base + "/dangling"}},
		{"a link to a file", []string{base + "/filelink"}},
		{"a good one and a missing one", []string{base + "/allow", base + "/none"}},
	} {
		if _, err := confine.Open(c.dirs, confine.Options{}); !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%s: %v, want SYSTEM_003", c.what, err)
		}
	}
}

func TestDirsAreAbsoluteAndAsConfigured(t *testing.T) {
	base := fixture(t, "link => allow")
	t.Setenv("HOME", base)
	t.Chdir(base)
	r, err := confine.Open([]string{"allow", "./link/", "~/out"}, confine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, want := r.Dirs(), []string{base + "/allow", base + "/link", base + "/out"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAfterCloseNothingOpens(t *testing.T) {
	base := fixture(t, "allow/f")
	r := roots(t, confine.ByWalk, confine.Options{}, base)
	p, err := r.Parse("f")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Open(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v, want closed", err)
	}
}

func TestTheOtherNormalFormIsUsedWhereItIsTheOnlyOne(t *testing.T) {
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	const hangulC, hangulD = "\ud55c", "\u1112\u1161\u11ab"
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, c := range []struct {
			what string
			tree []string
			name string
			want any
		}{
			{"composed given, decomposed there", []string{"allow/" + nfd}, nfc, "allow/" + nfd},
			{"decomposed given, composed there", []string{"allow/" + nfc}, nfd, "allow/" + nfc},
			{"both there: the one that was given", []string{"allow/" + nfc, "allow/" + nfd}, nfd, "allow/" + nfd},
			{"in a directory and its file, in opposite ways", []string{"allow/" + nfd + "/" + hangulC}, nfc + "/" + hangulD, "allow/" + nfd + "/" + hangulC},
			{"mixed given, both others there: which is meant is unknown", []string{"allow/" + nfc + nfc, "allow/" + nfd + nfd}, nfc + nfd, fault.NotFound},
			{"mixed given, one there", []string{"allow/" + nfd + nfd}, nfc + nfd, "allow/" + nfd + nfd},
			{"a name that only looks alike", []string{"allow/cafe"}, nfc, fault.NotFound},
			{"a link in the other form", []string{"allow/" + nfd + " => ../out/secret"}, nfc, fault.Forbidden},
		} {
			r := roots(t, by, confine.Options{}, fixture(t, c.tree...))
			got, err := read(r, c.name)
			outcome(t, c.what, got, err, c.want)
		}
		r := roots(t, by, confine.Options{}, fixture(t, "allow/"+nfd+"/f"))
		p, err := r.Parse(nfc)
		if err != nil {
			t.Fatal(err)
		}
		info, err := p.Stat()
		if err != nil || info.Name != nfd {
			t.Errorf("the name is %q, %v; want that of the file system", info.Name, err)
		}
	})
}

func TestANearNameIsSuggested(t *testing.T) {
	tree := []string{"allow/src/main.go", "allow/src/README.md", "allow/src/private.txt", "allow/x", "allow/a\nb.txt"}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, tree...)
		r := roots(t, by, confine.Options{Deny: []string{"private.txt"}}, base)
		for _, c := range []struct {
			what, name string
			want       any
		}{
			{"two letters swapped", "src/mian.go", "src/main.go"},
			{"a letter missing", "src/man.go", "src/main.go"},
			{"other case", "src/readme.MD", "src/README.md"},
			{"in the middle of the path", "scr/main.go", "src"},
			{"an absolute path", base + "/allow/src/main.g", base + "/allow/src/main.go"},
			{"nothing like it", "src/quite-another-name", nil},
			{"a single letter is like every other", "y", nil},
			{"what is denied is never told", "src/privat.txt", nil},
			{"what nobody could write is never told", "ab.txt", nil},
		} {
			_, err := read(r, c.name)
			if !errors.Is(err, fault.NotFound) || detail(err, "did_you_mean") != c.want {
				t.Errorf("%s: %v suggests %v, want %v", c.what, err, detail(err, "did_you_mean"), c.want)
			}
		}
	})
}

func TestInfoTellsWhatIsThere(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/f", "allow/d/", "allow/p |", "allow/l => f")
		when := time.Unix(1_700_000_000, 123_000_000)
		if err := errors.Join(os.Chmod(base+"/allow/f", 0o640|os.ModeSetuid), os.Chtimes(base+"/allow/f", when, when), os.Link(base+"/allow/f", base+"/allow/g")); err != nil {
			t.Fatal(err)
		}
		r := roots(t, by, confine.Options{}, base)
		p, err := r.Parse("f")
		if err != nil {
			t.Fatal(err)
		}
		info, err := p.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if info.Name != "f" || info.Type != confine.File || info.Size != int64(len("allow/f")) || info.Mode != 0o640|os.ModeSetuid || !info.Modified.Equal(when) ||
			info.Links != 2 || info.Changed.IsZero() || info.Stamp.Ino == 0 || info.Stamp.Modified != when.UnixNano() {
			t.Errorf("%+v", info)
		}
		f, opened, err := p.Open()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if opened.Stamp != info.Stamp || opened.Mode != info.Mode {
			t.Errorf("opened %+v, described %+v", opened, info)
		}
		for name, want := range map[string]confine.Type{".": confine.Directory, "d": confine.Directory, "p": confine.Other} {
			p, err := r.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := p.Stat(); err != nil || info.Type != want {
				t.Errorf("%s: %v, %v", name, info.Type, err)
			}
		}
	})
}

func TestAChangedFileHasAnotherID(t *testing.T) {
	base := fixture(t, "allow/f")
	p, err := roots(t, confine.ByWalk, confine.Options{}, base).Parse("f")
	if err != nil {
		t.Fatal(err)
	}
	before, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+"/allow/f", []byte("longer than before"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := p.Stat()
	if err != nil || after.Stamp == before.Stamp {
		t.Errorf("%v, %v", after.Stamp, err)
	}
}

func TestListingGivesEveryEntryOnceWithItsType(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		tree := []string{"allow/d/f", "allow/d/sub/", "allow/d/l => nowhere", "allow/d/p |", "allow/d/\u65e5\u672c", "allow/d/a\nb", "allow/d/private"}
		var many []string
		for i := range 3000 {
			many = append(many, fmt.Sprintf("allow/many/%s-%d", strings.Repeat("x", 30), i))
		}
		base := fixture(t, append(tree, many...)...)
		r := roots(t, by, confine.Options{Deny: []string{"private"}}, base)
		d := openDir(t, r, "d")
		types := map[string]string{}
		for {
			entries, err := d.Next(2)
			if err == io.EOF {
				break
			}
			if err != nil || len(entries) == 0 || len(entries) > 2 {
				t.Fatalf("%v, %v", entries, err)
			}
			for _, e := range entries {
				types[e.Name] = e.Type.String()
			}
		}
		want := "map[a\nb:file f:file l:symlink p:other sub:directory \u65e5\u672c:file]"
		if got := fmt.Sprint(types); got != want || d.Denied() != 1 {
			t.Errorf("%s, denied %d", got, d.Denied())
		}
		got, err := names(openDir(t, r, "many"))
		if err != nil || len(strings.Fields(got)) != 3000 {
			t.Errorf("%d of 3000 names, %v", len(strings.Fields(got)), err)
		}
	})
}

func TestTheMessageTellsAFileFromTheWayThroughOne(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		r := roots(t, by, confine.Options{}, fixture(t, "allow/f", "allow/p |"))
		for name, says := range map[string]string{"f": "is a file, not a directory", "f/x": "goes through a file", "p": "neither a regular file"} {
			if _, err := list(r, name); !errors.Is(err, fault.ParamInvalid) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", name, err, says)
			}
		}
	})
}

func TestATypeTheDirectoryDoesNotTellIsLookedUp(t *testing.T) {
	d := openDir(t, roots(t, confine.ByWalk, confine.Options{}, fixture(t, "allow/f", "allow/d/", "allow/l => none")), ".")
	for name, want := range map[string]confine.Type{"f": confine.File, "d": confine.Directory, "l": confine.Symlink, "gone": confine.Other} {
		if got := d.TypeWhenUntold(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func openDir(t *testing.T, r *confine.Roots, name string) *confine.Dir {
	t.Helper()
	p, err := r.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.OpenDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestEntriesOpenThroughTheirDirectory(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/d/f", "allow/d/sub/g", "allow/d/l => f", "allow/d/out => ../../out", "allow/d/p |", "allow/d/a\nb",
			"allow/d/x\ny/private", "allow/d/x\ny/f", "allow/d/private")
		d := openDir(t, roots(t, by, confine.Options{Deny: []string{"private", "d/x\ny/f"}}, base), "d")
		for name, want := range map[string]any{
			"f": "allow/d/f", "a\nb": "allow/d/a\nb", "l": fault.Forbidden, "out": fault.Forbidden, "p": fault.ParamInvalid, "sub": fault.ParamInvalid,
			"none": fault.NotFound, "private": fault.OutsideAllowed,
			"..": fault.ParamMalformed, ".": fault.ParamMalformed, "": fault.ParamMalformed, "sub/g": fault.ParamMalformed,
			"../../out/secret": fault.ParamMalformed, "/etc/passwd": fault.ParamMalformed, "f\x00": fault.ParamMalformed,
		} {
			got, err := entry(d, name)
			outcome(t, "entry "+name, got, err, want)
		}
		sub, err := d.OpenDir("sub")
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		got, err := entry(sub, "g")
		outcome(t, "an entry of an entry", got, err, "allow/d/sub/g")
		if sub.Path().String() != "d/sub" {
			t.Errorf("its path is %q", sub.Path())
		}
		odd, err := d.OpenDir("x\ny")
		if err != nil {
			t.Fatal(err)
		}
		defer odd.Close()
		for _, name := range []string{"private", "f"} {
			got, err = entry(odd, name)
			outcome(t, "a denied entry of a directory with an odd name", got, err, fault.OutsideAllowed)
		}
		if _, err := odd.Path().OpenDir(); !errors.Is(err, fault.ParamMalformed) {
			t.Errorf("the odd name opens by itself: %v", err)
		}
		if info, err := d.Info("l"); err != nil || info.Type != confine.Symlink {
			t.Errorf("a link is %v, %v", info.Type, err)
		}
		if _, err := d.Info("private"); !errors.Is(err, fault.OutsideAllowed) {
			t.Errorf("a denied entry: %v", err)
		}
		if _, err := d.Info("../../out"); !errors.Is(err, fault.ParamMalformed) {
			t.Errorf("a way out: %v", err)
		}
		if _, err := d.OpenDir("out"); !errors.Is(err, fault.Forbidden) || detail(err, "link") != "d/out" {
			t.Errorf("a link to a directory: %v", err)
		}
		if _, err := d.OpenDir("f"); !errors.Is(err, fault.ParamInvalid) {
			t.Errorf("a file as a directory: %v", err)
		}
	})
}

func TestPermissionIsTheSystemsToRefuse(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		base := fixture(t, "allow/f")
		if err := os.Chmod(base+"/allow/f", 0); err != nil {
			t.Fatal(err)
		}
		_, err := read(roots(t, by, confine.Options{}, base), "f")
		outcome(t, "an unreadable file", "", err, fault.PermissionDenied)
	})
}

func TestTheTextOfALinkIsToldAsItIs(t *testing.T) {
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		long := strings.Repeat("x/", 500) + "end"
		base := fixture(t, "allow/d/f", "allow/d/sub/", "allow/d/p |", "allow/d/l => f", "allow/d/out => ../../out/secret", "allow/d/abs => /etc/passwd",
			"allow/d/none => gone", "allow/d/odd\n => a\n\xff", "allow/d/loop => loop", "allow/d/long => "+long, "allow/d/private => f")
		for _, o := range []confine.Options{{Deny: []string{"private"}}, {Deny: []string{"private"}, Symlinks: confine.Within}} {
			d := openDir(t, roots(t, by, o, base), "d")
			for name, want := range map[string]any{
				"l": "f", "out": "../../out/secret", "abs": "/etc/passwd", "none": "gone", "odd\n": "a\n\xff", "loop": "loop", "long": long,
				"f": fault.ParamInvalid, "sub": fault.ParamInvalid, "p": fault.ParamInvalid,
				"gone": fault.NotFound, "private": fault.OutsideAllowed,
				"..": fault.ParamMalformed, "sub/..": fault.ParamMalformed, "": fault.ParamMalformed, "l\x00": fault.ParamMalformed,
			} {
				got, err := d.Link(name)
				if code, refused := want.(fault.Code); refused && !errors.Is(err, code) || !refused && (err != nil || got != want) {
					t.Errorf("%q: %q, %v; want %v", name, got, err, want)
				}
			}
		}
	})
}
