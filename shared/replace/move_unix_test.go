//go:build linux || darwin

package replace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

func inode(t testing.TB, file string) uint64 {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(file, &st))
	return st.Ino
}

func TestAnEntryIsMoved(t *testing.T) {
	for _, c := range []struct {
		what     string
		tree     []string
		o        confine.Options
		from, to string
		really   string // where it is then, below allow/
		want     replace.MoveResult
	}{
		{"a file, renamed", []string{"allow/f: text"}, confine.Options{}, "f", "g", "g", replace.MoveResult{}},
		{"a file, to another directory", []string{"allow/f: text", "allow/a/"}, confine.Options{}, "f", "a/f", "a/f", replace.MoveResult{}},
		{"an empty file", []string{"allow/f: "}, confine.Options{}, "f", "g", "g", replace.MoveResult{}},
		{"through links on the way", []string{"allow/a/f: text", "allow/b/", "allow/l => a", "allow/m => b"}, within, "l/f", "m/g", "b/g", replace.MoveResult{}},
		{"to another case", []string{"allow/f: text"}, confine.Options{}, "f", "F", "F", replace.MoveResult{}},
		{"a directory", []string{"allow/d/a/f: text", "allow/d/l => ../../out", "allow/e/"}, confine.Options{}, "d", "e/d", "e/d", replace.MoveResult{Directory: true}},
		{"an empty directory", []string{"allow/d/"}, confine.Options{}, "d", "e", "e", replace.MoveResult{Directory: true}},
		{"a directory up", []string{"allow/d/e/f: text"}, confine.Options{}, "d/e", "e", "e", replace.MoveResult{Directory: true}},
		{"a directory to a name that begins with its own", []string{"allow/d/f: x"}, confine.Options{}, "d", "dd", "dd", replace.MoveResult{Directory: true}},
		{"a directory with a pipe in it", []string{"allow/d/f: x"}, confine.Options{}, "d", "e", "e", replace.MoveResult{Directory: true}},
	} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			base := fixture(t, c.tree...)
			if strings.Contains(c.what, "pipe") {
				must(t, unix.Mkfifo(base+"/allow/d/pipe", 0o644))
			}
			r := roots(t, base+"/allow", c.o)
			before := snapshot(t, base+"/allow/"+c.from)
			res, err := w.Move(background, path(t, r, c.from), path(t, r, c.to), replace.MoveOptions{})
			if err != nil || res != c.want {
				t.Fatalf("%s: %+v, %v", c.what, res, err)
			}
			if after := snapshot(t, base+"/allow/"+c.really); after != before {
				t.Errorf("%s: %s became %s", c.what, before, after)
			}
			if _, err := os.Lstat(base + "/allow/" + c.from); err == nil {
				t.Errorf("%s: it is still there", c.what)
			}
			noDrafts(t, base)
		})
	}
}

func TestAFileTakesThePlaceOfAnotherThatWasShown(t *testing.T) {
	for _, exchange := range []bool{true, false} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			w.Lack(!exchange)
			base := fixture(t, "allow/f: new", "allow/a/g: old")
			must(t, os.Chmod(base+"/allow/f", 0o640))
			r := roots(t, base+"/allow", confine.Options{})
			ino := inode(t, base+"/allow/f")
			var seen []string
			res, err := w.Move(background, path(t, r, "f"), path(t, r, "a/g"), replace.MoveOptions{Overwrite: true, Replaced: shows(&seen)})
			if err != nil || res != (replace.MoveResult{Replaced: true}) || fmt.Sprint(seen) != "[old]" {
				t.Errorf("%+v, %v, shown %q", res, err, seen)
			}
			info, err := os.Stat(base + "/allow/a/g")
			must(t, err)
			if content(base+"/allow/a/g") != "new" || names(t, base+"/allow") != "a" || names(t, base+"/allow/a") != "g" || inode(t, base+"/allow/a/g") != ino || info.Mode() != 0o640 {
				t.Error(snapshot(t, base+"/allow"))
			}
		})
	}
}

func TestWhatMayNotBeMovedStaysWhereItIs(t *testing.T) {
	over := replace.MoveOptions{Overwrite: true}
	deny := confine.Options{Deny: []string{"*.key"}}
	secrets := confine.Options{DenySecrets: true}
	none := replace.MoveOptions{}
	for _, c := range []struct {
		what     string
		tree     []string
		o        confine.Options
		from, to string
		m        replace.MoveOptions
		want     fault.Code
	}{
		{"a missing file", nil, confine.Options{}, "f", "g", none, fault.NotFound},
		{"a missing file and directory", nil, confine.Options{}, "f", "a/g", none, fault.NotFound},
		{"to a missing directory", []string{"allow/f: x"}, confine.Options{}, "f", "a/f", none, fault.NotFound},
		{"the allowed directory", nil, confine.Options{}, ".", "a", none, fault.ParamInvalid},
		{"to the allowed directory", []string{"allow/f: x"}, confine.Options{}, "f", ".", over, fault.ParamInvalid},
		{"onto itself", []string{"allow/f: x"}, confine.Options{}, "f", "f", over, fault.ParamInvalid},
		{"a directory onto itself", []string{"allow/d/"}, confine.Options{}, "d", "d", none, fault.ParamInvalid},
		{"onto another name of itself", []string{"allow/f: x", "allow/a/"}, confine.Options{}, "f", "a/hard", over, fault.ParamInvalid},
		{"onto another name of itself beside it", []string{"allow/f: x"}, confine.Options{}, "f", "hard", none, fault.ParamInvalid},
		{"a directory into itself", []string{"allow/d/a/"}, confine.Options{}, "d", "d/a/d", none, fault.ParamInvalid},
		{"a directory directly into itself", []string{"allow/d/"}, confine.Options{}, "d", "d/d", none, fault.ParamInvalid},
		{"a directory into itself, by a link", []string{"allow/d/a/", "allow/l => d/a"}, within, "d", "l/d", none, fault.ParamInvalid},
		{"over a file without being asked to", []string{"allow/f: x", "allow/g: y"}, confine.Options{}, "f", "g", none, fault.Exists},
		{"over a directory without being asked to", []string{"allow/f: x", "allow/d/"}, confine.Options{}, "f", "d", none, fault.Exists},
		{"a directory over an empty one", []string{"allow/d/f: x", "allow/e/"}, confine.Options{}, "d", "e", none, fault.Exists},
		{"a file over a directory", []string{"allow/f: x", "allow/d/"}, confine.Options{}, "f", "d", over, fault.ParamInvalid},
		{"a directory over a file", []string{"allow/f: x", "allow/d/"}, confine.Options{}, "d", "f", over, fault.ParamInvalid},
		{"a directory over a directory", []string{"allow/d/f: x", "allow/e/"}, confine.Options{}, "d", "e", over, fault.ParamInvalid},
		{"over a read-only file", []string{"allow/f: x", "allow/read-only: y"}, confine.Options{}, "f", "read-only", over, fault.PermissionDenied},
		{"over a pipe", []string{"allow/f: x"}, confine.Options{}, "f", "pipe", over, fault.ParamInvalid},
		{"a pipe", []string{"allow/a/"}, confine.Options{}, "pipe", "a/pipe", none, fault.ParamInvalid},
		{"a link", []string{"allow/f: x", "allow/l => f"}, confine.Options{}, "l", "g", none, fault.Forbidden},
		{"a link, followed elsewhere", []string{"allow/f: x", "allow/l => f"}, within, "l", "g", none, fault.Forbidden},
		{"over a link", []string{"allow/f: x", "allow/g: x", "allow/l => g"}, confine.Options{}, "f", "l", over, fault.Forbidden},
		{"over a link, followed elsewhere", []string{"allow/f: x", "allow/g: x", "allow/l => g"}, within, "f", "l", over, fault.Forbidden},
		{"over a link to nothing", []string{"allow/f: x", "allow/l => nothing"}, within, "f", "l", over, fault.Forbidden},
		{"over a link out", []string{"allow/f: x", "allow/l => ../out/secret"}, within, "f", "l", over, fault.Forbidden},
		{"through a link", []string{"allow/f: x", "allow/a/", "allow/l => a"}, confine.Options{}, "f", "l/f", none, fault.Forbidden},
		{"through a link out", []string{"allow/f: x", "allow/l => ../out"}, within, "f", "l/f", none, fault.OutsideAllowed},
		{"a directory with what is denied", []string{"allow/d/a/x.key: x"}, deny, "d", "e", none, fault.OutsideAllowed},
		{"a directory with what is denied elsewhere", []string{"allow/d/a/x: x"}, confine.Options{Deny: []string{"e/a/x"}}, "d", "e", none, fault.OutsideAllowed},
		{"a directory called as a file may be", []string{"allow/d/f: x"}, secrets, "d", ".env.example", none, fault.OutsideAllowed},
		{"what a rule refuses", []string{"allow/ruled: x"}, confine.Options{}, "ruled", "g", none, fault.Forbidden},
		{"what a rule refuses there", []string{"allow/f: x"}, confine.Options{}, "f", "ruled", none, fault.Forbidden},
		{"a directory with what a rule refuses", []string{"allow/d/a/ruled: x"}, confine.Options{}, "d", "e", none, fault.Forbidden},
		{"content that a rule refuses", []string{"allow/f: bad"}, confine.Options{}, "f", "g", none, fault.Forbidden},
		{"over what its reader refuses", []string{"allow/f: x", "allow/g: y"}, confine.Options{}, "f", "g",
			replace.MoveOptions{Overwrite: true, Replaced: func(*os.File, confine.Info) error { return fault.New(fault.DiskFull, "no room to keep it", "") }}, fault.DiskFull},
	} {
		for _, ways := range [][2]bool{{false, false}, {true, true}} {
			base := fixture(t, c.tree...)
			prepare(t, base, c.from, c.to)
			before := snapshot(t, base)
			w := replace.New(replace.Rules{
				Entry: func(p confine.Path) error {
					if p.Base() == "ruled" {
						return refusal
					}
					return nil
				},
				Content: func(_ confine.Path, b []byte, _ fs.FileMode) error {
					if string(b) == "bad" {
						return refusal
					}
					return nil
				},
			})
			w.Without(false, ways[0], ways[1])
			r := roots(t, base+"/allow", c.o)
			if _, err := w.Move(background, path(t, r, c.from), path(t, r, c.to), c.m); !errors.Is(err, c.want) || detail(err, "path") == nil {
				t.Errorf("%s: %v, want %s", c.what, err, c.want)
			}
			if after := snapshot(t, base); after != before {
				t.Errorf("%s: before\n%safter\n%s", c.what, before, after)
			}
		}
	}
}

// prepare makes what a fixture cannot say, by its name.
func prepare(t *testing.T, base, from, to string) {
	t.Helper()
	for _, name := range []string{from, to} {
		switch filepath.Base(name) {
		case "pipe":
			if name == from || from == "f" {
				must(t, unix.Mkfifo(base+"/allow/pipe", 0o644))
				return
			}
		case "read-only":
			must(t, os.Chmod(base+"/allow/"+name, 0o444))
		case "hard":
			must(t, os.Link(base+"/allow/f", base+"/allow/"+name))
		}
	}
}

func TestAReadOnlyFileMayBeMoved(t *testing.T) {
	base := fixture(t, "allow/f: x")
	must(t, os.Chmod(base+"/allow/f", 0o444))
	r := roots(t, base+"/allow", confine.Options{})
	var w replace.Writer
	if _, err := w.Move(background, path(t, r, "f"), path(t, r, "g"), replace.MoveOptions{}); err != nil || content(base+"/allow/g") != "x" {
		t.Error(err)
	}
}

func TestRulesAreAskedAboutBothNamesOfEverythingThatMoves(t *testing.T) {
	base := fixture(t, "allow/d/a/f: x", "allow/d/l => a", "allow/e/", "allow/m => e")
	r := roots(t, base+"/allow", within)
	var asked []string
	w := replace.New(replace.Rules{Entry: func(p confine.Path) error {
		asked = append(asked, strings.TrimPrefix(p.Abs(), base+"/allow/"))
		return nil
	}})
	_, err := w.Move(background, path(t, r, "d"), path(t, r, "m/g"), replace.MoveOptions{})
	slices.Sort(asked)
	if got, want := fmt.Sprint(asked), "[d d/a d/a/f d/l e/g e/g/a e/g/a/f e/g/l]"; err != nil || got != want {
		t.Errorf("%v: asked about %s, want %s", err, got, want)
	}
}

func TestTheHeadAndTheTailOfAFileAreJudgedUnderItsNewName(t *testing.T) {
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 64<<10 + 511, 64<<10 + 513, 1 << 20} {
		text := strings.Repeat("0123456789abcdef", 1<<16)[:size]
		if size > 600 {
			text = "head" + text[4:size-4] + "tail"
		}
		want := text
		if size > 64<<10 {
			want = text[:64<<10] + text[max(64<<10, size-512):]
		}
		base := fixture(t, "allow/f: "+text)
		r := roots(t, base+"/allow", confine.Options{})
		var asked []string
		w := replace.New(replace.Rules{Content: func(p confine.Path, b []byte, _ fs.FileMode) error {
			asked = append(asked, p.String()+string(b))
			return nil
		}})
		_, err := w.Move(background, path(t, r, "f"), path(t, r, "g"), replace.MoveOptions{})
		if err != nil || len(asked) != 1 || asked[0] != "g"+want {
			t.Errorf("%d bytes: %v, asked %d times", size, err, len(asked))
		}
	}
}

// What another program does while a file is being moved from f to g.
func TestAMoveSeesWhatAnotherProgramDidMeanwhile(t *testing.T) {
	put := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(dir+"/"+name, []byte(text), 0o644) }
	}
	swap := func(name, text string) func(string) error {
		return func(dir string) error {
			return errors.Join(replaced(dir+"/x", text), os.Rename(dir+"/x/f", dir+"/"+name))
		}
	}
	gone := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(dir + "/" + name) }
	}
	link := func(name string) func(string) error {
		return func(dir string) error {
			return errors.Join(os.Remove(dir+"/"+name), os.Symlink("../out/secret", dir+"/"+name))
		}
	}
	for _, c := range []struct {
		what  string
		over  bool
		at    replace.Step
		do    func(dir string) error
		want  fault.Code // "" is success
		after string
		seen  string
	}{
		{"the source was replaced", false, replace.BeforeSwap, swap("f", "theirs"), "", "g:theirs", "[new theirs] []"},
		{"the source was written in place", false, replace.BeforeSwap, put("f", "theirs"), "", "g:theirs", "[new theirs] []"},
		{"the source became bad", false, replace.BeforeSwap, swap("f", "bad"), fault.Forbidden, "f:bad", "[new bad] []"},
		{"the source was removed", false, replace.BeforeSwap, gone("f"), fault.NotFound, "", "[new] []"},
		{"the source became a link", false, replace.BeforeSwap, link("f"), fault.Forbidden, "f:SECRET", "[new] []"},
		{"something came to the destination", false, replace.BeforeSwap, put("g", "theirs"), fault.Exists, "f:new g:theirs", "[new] []"},
		{"a new source came at once", false, replace.AfterSwap, swap("f", "theirs"), "", "f:theirs g:new", "[new] []"},
		{"the destination was taken at once", false, replace.AfterSwap, gone("g"), "", "", "[new] []"},

		{"over: the source was replaced", true, replace.BeforeSwap, swap("f", "theirs"), "", "g:theirs", "[new theirs] [old old]"},
		{"over: the source became bad", true, replace.BeforeSwap, swap("f", "bad"), fault.Forbidden, "f:bad g:old", "[new bad] [old]"},
		{"over: the source was removed", true, replace.BeforeSwap, gone("f"), fault.NotFound, "g:old", "[new] [old]"},
		{"over: the destination was replaced", true, replace.BeforeSwap, swap("g", "theirs"), "", "g:new", "[new new] [old theirs]"},
		{"over: the destination was written in place", true, replace.BeforeSwap, put("g", "theirs"), "", "g:new", "[new new] [old theirs]"},
		{"over: the destination was removed", true, replace.BeforeSwap, gone("g"), "", "g:new", "[new new] [old]"},
		{"over: the destination became a link", true, replace.BeforeSwap, link("g"), fault.Forbidden, "f:new g:SECRET", "[new] [old]"},
	} {
		for _, ways := range [][2]bool{{false, false}, {true, false}, {false, true}} {
			if ways[0] && c.at == replace.AfterSwap && !c.over { // both names are the file's then
				continue
			}
			base := fixture(t, "allow/f: new", "allow/x/f: x")
			if c.over {
				plant(t, base, "allow/g: old")
			}
			var judged, shown []string
			w := replace.New(replace.Rules{Content: func(_ confine.Path, b []byte, _ fs.FileMode) error {
				judged = append(judged, string(b))
				if string(b) == "bad" {
					return refusal
				}
				return nil
			}})
			w.Without(false, ways[0], ways[1])
			times := 0
			w.When(c.at, func() {
				if times++; times == 1 {
					must(t, c.do(base+"/allow"))
				}
			})
			r := roots(t, base+"/allow", confine.Options{})
			_, err := w.Move(background, path(t, r, "f"), path(t, r, "g"), replace.MoveOptions{Overwrite: c.over, Replaced: shows(&shown)})
			if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %q", c.what, err, c.want)
			}
			must(t, os.RemoveAll(base+"/allow/x"))
			var left []string
			for _, name := range strings.Fields(names(t, base+"/allow")) {
				left = append(left, name+":"+content(base+"/allow/"+name))
			}
			if got := strings.Join(left, " "); got != c.after || times == 0 {
				t.Errorf("%s %v: left %s, want %s", c.what, ways, got, c.after)
			}
			if seen := fmt.Sprint(judged, shown); seen != fmt.Sprint(c.seen) {
				t.Errorf("%s %v: judged and shown %s, want %s", c.what, ways, seen, c.seen)
			}
		}
	}
}

func TestADirectoryThatIsAnotherWhenItArrivesGoesBack(t *testing.T) {
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base := fixture(t, "allow/d/f: mine", "allow/x/f: theirs", "allow/to/")
		r := roots(t, base+"/allow", confine.Options{})
		n := 0
		w.When(replace.BeforeSwap, func() {
			n++
			must(t, errors.Join(os.Rename(base+"/allow/d", base+"/allow/y"), os.Rename(base+"/allow/x", base+"/allow/d"), os.Rename(base+"/allow/y", base+"/allow/x")))
		})
		_, err := w.Move(background, path(t, r, "d"), path(t, r, "to/d"), replace.MoveOptions{})
		if !errors.Is(err, fault.Unavailable) || n < 2 || names(t, base+"/allow") != "d to x" || names(t, base+"/allow/to") != "" {
			t.Errorf("%v after %d tries: %s", err, n, snapshot(t, base+"/allow"))
		}
	})
}

func TestADirectoryRemovedUnderTheDestinationIsTold(t *testing.T) {
	base := fixture(t, "allow/f: x", "allow/a/")
	r := roots(t, base+"/allow", confine.Options{})
	var w replace.Writer
	w.When(replace.BeforeSwap, func() { must(t, os.Remove(base+"/allow/a")) })
	if _, err := w.Move(background, path(t, r, "f"), path(t, r, "a/f"), replace.MoveOptions{}); !errors.Is(err, fault.NotFound) || detail(err, "path") != "a/f" || names(t, base+"/allow") != "f" {
		t.Error(err)
	}
}

func TestAMoveEndsWithItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	base := fixture(t, "allow/f: x")
	r := roots(t, base+"/allow", confine.Options{})
	var w replace.Writer
	if _, err := w.Move(ctx, path(t, r, "f"), path(t, r, "g"), replace.MoveOptions{}); !errors.Is(err, fault.TimedOut) || names(t, base+"/allow") != "f" {
		t.Error(err)
	}
}
