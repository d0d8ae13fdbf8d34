package replace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

// moveChild DIR LACKING KIND moves or removes in DIR until it is killed.
func moveChild(args []string) error {
	r, err := confine.Open(args[:1], confine.Options{})
	if err != nil {
		return err
	}
	var w replace.Writer
	w.Without(false, args[1] == "true", args[1] == "true")
	fmt.Println("ready")
	for {
		if err := movable(&w, r, args[0], args[2]); err != nil {
			return err
		}
	}
}

func movable(w *replace.Writer, r *confine.Roots, dir, kind string) error {
	a, err := r.Parse("a/x")
	if err != nil {
		return err
	}
	b, err := r.Parse("b/x")
	if err != nil {
		return err
	}
	switch kind {
	case "remove":
		if _, err := os.Lstat(dir + "/a/x"); err != nil {
			if err := grow(dir + "/a/x"); err != nil {
				return err
			}
		}
		return w.RemoveTree(background, a, nil)
	case "over":
		if err := os.WriteFile(dir+"/a/y", []byte(letters(1)), 0o644); err != nil {
			return err
		}
		if err := os.Rename(dir+"/a/y", dir+"/a/x"); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(dir + "/a/x"); err != nil {
		a, b = b, a
	}
	_, err = w.Move(background, a, b, replace.MoveOptions{Overwrite: kind == "over"})
	return err
}

// grow makes a tree complete under another name and gives it this one.
func grow(name string) error {
	tmp := name + ".growing"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	for i := range 30 {
		dir := fmt.Sprintf("%s/%d/%d", tmp, i%3, i)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(dir+"/f", []byte(letters(i)), 0o644); err != nil {
			return err
		}
	}
	return os.Rename(tmp, name)
}

// grown is how many whole files a tree has.
func grown(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, line := range strings.Split(snapshot(t, dir), "\n") {
		if strings.Contains(line, "/f ") {
			n++
		}
	}
	return n
}

func TestAKillAtAnyMomentOfAMoveOrARemovalLeavesItWhole(t *testing.T) {
	// So many of each of eight kinds, and more as long as none was in the middle.
	const most = 500
	kills := kills(t)
	for _, kind := range []string{"file", "over", "directory", "remove"} {
		for _, lacking := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, all functions: %t", kind, !lacking), func(t *testing.T) {
				base := fixture(t, "allow/a/", "allow/b/")
				dir := base + "/allow"
				r := roots(t, dir, confine.Options{})
				var w replace.Writer
				left, both, at := 0, 0, map[string]int{}
				middle := func() bool {
					return kind == "over" || kind == "remove" && left > 0 || kind != "remove" && min(at["/a"], at["/b"]) > 0
				}
				done := 0
				for ; done < kills || done < most && !middle(); done++ {
					switch _, err := os.Lstat(dir + "/b/x"); {
					case kind == "remove" || err == nil || both+len(at) > 0 && kind != "directory":
					case kind == "directory":
						if _, err := os.Lstat(dir + "/a/x"); err != nil {
							must(t, grow(dir+"/a/x"))
						}
					default:
						must(t, os.WriteFile(dir+"/a/x", []byte(letters(0)), 0o644))
					}
					killedChild(t, mcptest.Child(t, "move", dir, fmt.Sprint(lacking), kind))
					for _, d := range []string{"/a", "/b"} {
						left += drafts(t, dir+d)
						if _, err := w.Sweep(background, path(t, r, d[1:])); err != nil || drafts(t, dir+d) != 0 {
							t.Fatalf("%v; left: %s", err, names(t, dir+d))
						}
						must(t, os.RemoveAll(dir+d+"/x.growing"))
						must(t, os.RemoveAll(dir+d+"/y"))
					}
					places := 0
					for _, d := range []string{"/a", "/b"} {
						info, err := os.Lstat(dir + d + "/x")
						switch {
						case err != nil:
							continue
						case info.IsDir() && grown(t, dir+d+"/x") != 30, info.Mode().IsRegular() && !whole(content(dir+d+"/x")):
							t.Fatalf("%s/x is not whole", d)
						}
						places++
						at[d]++
					}
					if both += max(0, places-1); places == 0 && kind != "remove" || places == 2 && kind == "directory" {
						t.Fatalf("it is in %d places: %s", places, snapshot(t, dir))
					}
					if places == 2 && kind == "file" {
						must(t, os.Remove(dir+"/a/x"))
					}
				}
				t.Logf("%d kills: at the one place %d times, at the other %d, at both %d; %d drafts, all swept", done, at["/a"], at["/b"], both, left)
				if !middle() {
					t.Error("no kill was in the middle")
				}
			})
		}
	}
}
