//go:build linux || darwin

package replace_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// acts is every way to change a file, all making "new" of what there is.
func acts(old string) map[string]act {
	return map[string]act{
		"create":      creating("new"),
		"replace":     replacing("new", replace.Options{}),
		"with a hash": replacing("new", expecting(old)),
		"update":      updating("new"),
	}
}

var refusal = fault.New(fault.Forbidden, "the rule says no", "Do something else").With("rule", "7")

func TestWhatARuleRefusesDoesNotHappen(t *testing.T) {
	for _, c := range []struct {
		what  string
		rules replace.Rules
	}{
		{"the entry", replace.Rules{Entry: func(confine.Path) error { return refusal }}},
		{"the content", replace.Rules{Content: func(confine.Path, []byte, fs.FileMode) error { return refusal }}},
	} {
		for name, do := range acts("old") {
			var tree []string
			if name != "create" {
				tree = []string{"allow/f: old"}
			}
			base, p := only(t, "f", tree...)
			_, err := do(replace.New(c.rules), p)
			if !errors.Is(err, refusal.Code) || detail(err, "rule") != "7" || detail(err, "path") != "f" {
				t.Errorf("%s, %s: %v", c.what, name, err)
			}
			if name == "create" && names(t, base+"/allow") != "" || name != "create" && content(base+"/allow/f") != "old" {
				t.Errorf("%s, %s: it happened", c.what, name)
			}
			noDrafts(t, base)
		}
	}
}

func TestRulesAreToldWhereTheEntryReallyLiesAndWhatIsToStandThere(t *testing.T) {
	for name, do := range acts("old") {
		tree := []string{"allow/a/b/", "allow/l => a/b"}
		if name != "create" {
			tree = append(tree, "allow/a/b/f: old")
		}
		base := fixture(t, tree...)
		p := path(t, roots(t, base+"/allow", confine.Options{Symlinks: confine.Within}), "l/f")
		var entries, contents []string
		w := replace.New(replace.Rules{
			Entry: func(real confine.Path) error { entries = append(entries, real.Rel()); return nil },
			Content: func(real confine.Path, content []byte, _ fs.FileMode) error {
				contents = append(contents, real.Rel()+": "+string(content))
				return nil
			},
		})
		if _, err := do(w, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(entries) != 1 || entries[0] != "a/b/f" || len(contents) != 1 || contents[0] != "a/b/f: new" {
			t.Errorf("%s: asked about %q and %q", name, entries, contents)
		}
	}
}

// A file that is refused must not even be read: its content could show in an error.
func TestTheEntryIsJudgedBeforeTheFileIsRead(t *testing.T) {
	_, p := only(t, "f", "allow/f: old")
	w := replace.New(replace.Rules{Entry: func(confine.Path) error { return refusal }})
	_, err := w.Update(background, p, func([]byte, confine.Info) ([]byte, error) {
		t.Error("the file was read")
		return nil, nil
	})
	_, err2 := w.Replace(background, p, []byte("new"), expecting("another"))
	if !errors.Is(err, refusal.Code) || !errors.Is(err2, refusal.Code) || detail(err2, "present_sha256") != nil {
		t.Errorf("%v; %v", err, err2)
	}
}

// The judgement is of the directory that is open: what is swapped for a link during
// the judgement leads the change nowhere else.
func TestASwapAfterTheJudgementLeadsNowhereElse(t *testing.T) {
	for name, do := range acts("old") {
		tree := []string{"allow/d/", "allow/other/"}
		if name != "create" {
			tree = append(tree, "allow/d/f: old", "allow/other/f: old")
		}
		base, p := only(t, "d/f", tree...)
		swapped := false
		w := replace.New(replace.Rules{Entry: func(real confine.Path) error {
			swapped = real.Rel() == "d/f"
			return errors.Join(os.Rename(base+"/allow/d", base+"/allow/moved"), os.Symlink("other", base+"/allow/d"))
		}})
		_, err := do(w, p)
		if err != nil || !swapped || content(base+"/allow/moved/f") != "new" || content(base+"/allow/other/f") == "new" {
			t.Errorf("%s: %v; what was judged holds %q, the other %q", name, err, content(base+"/allow/moved/f"), content(base+"/allow/other/f"))
		}
	}
}

func TestANewFileHasAtMostThePermissionsThatAreWanted(t *testing.T) {
	old := unix.Umask(0o022)
	defer unix.Umask(old)
	for _, c := range []struct{ wish, want fs.FileMode }{
		{0, 0o644}, {0o666, 0o644}, {0o600, 0o600}, {0o400, 0o400}, {0o640, 0o640}, {0o777, 0o644}, {0o4755, 0o644}, {fs.ModeSetuid | 0o755, 0o644},
	} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			base := fixture(t)
			r := roots(t, base+"/allow", confine.Options{})
			_, err := w.Create(background, path(t, r, "created"), nil, replace.Options{Mode: c.wish})
			_, err2 := w.Replace(background, path(t, r, "replaced"), nil, replace.Options{Mode: c.wish})
			must(t, errors.Join(err, err2))
			for _, name := range []string{"created", "replaced"} {
				info, err := os.Stat(base + "/allow/" + name)
				must(t, err)
				if info.Mode() != c.want {
					t.Errorf("%s with the wish %v: %v, want %v", name, c.wish, info.Mode(), c.want)
				}
			}
		})
	}
}

func TestAFileThatIsThereKeepsItsPermissionsWhateverIsWanted(t *testing.T) {
	base, p := only(t, "f", "allow/f: old")
	must(t, os.Chmod(base+"/allow/f", 0o664))
	var w replace.Writer
	_, err := w.Replace(background, p, []byte("new"), replace.Options{Mode: 0o600})
	must(t, err)
	if info, err := os.Stat(base + "/allow/f"); err != nil || info.Mode() != 0o664 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
