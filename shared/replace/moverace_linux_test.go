package replace_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

func TestOfTwentyMoversToOneNameExactlyOneWins(t *testing.T) {
	for _, shared := range []bool{true, false} {
		eachWay(t, func(t *testing.T, w *replace.Writer) {
			base := fixture(t)
			r := roots(t, base+"/allow", confine.Options{})
			for round := range 10 {
				dir := fmt.Sprint(round)
				for i := range 20 {
					plant(t, base, fmt.Sprintf("allow/%s/%d: %d", dir, i, i))
				}
				var won atomic.Int32
				var winner atomic.Int64
				together(writers(20, shared, w), func(i int, w *replace.Writer) {
					switch _, err := w.Move(background, path(t, r, fmt.Sprintf("%s/%d", dir, i)), path(t, r, dir+"/to"), replace.MoveOptions{}); {
					case err == nil:
						won.Add(1)
						winner.Store(int64(i))
					case !errors.Is(err, fault.Exists):
						t.Error(err)
					}
				})
				left := strings.Fields(names(t, base+"/allow/"+dir))
				if won.Load() != 1 || content(base+"/allow/"+dir+"/to") != fmt.Sprint(winner.Load()) || len(left) != 20 {
					t.Fatalf("round %d: %d winners; left %s", round, won.Load(), left)
				}
			}
		})
	}
}

// Two move over each other's file, and two directories back and forth, all the time.
func TestOppositeMovesNeitherWaitForEachOtherNorLoseAnything(t *testing.T) {
	for _, shared := range []bool{true, false} {
		base := fixture(t, "allow/a/f: one", "allow/b/f: two", "allow/a/d/x: x", "allow/b/e/y: y")
		r := roots(t, base+"/allow", confine.Options{})
		var w replace.Writer
		var moved atomic.Int32
		together(writers(4, shared, &w), func(i int, w *replace.Writer) {
			pair := [][2]string{{"a/f", "b/f"}, {"b/f", "a/f"}, {"a/d", "b/d"}, {"b/e", "a/e"}}[i]
			for range 100 {
				_, err := w.Move(background, path(t, r, pair[0]), path(t, r, pair[1]), replace.MoveOptions{Overwrite: i < 2})
				switch {
				case err == nil:
					moved.Add(1)
				case !errors.Is(err, fault.NotFound):
					t.Error(err)
				}
				if i < 2 { // what the other has moved here goes back as a new file
					_, _ = w.Create(background, path(t, r, pair[0]), []byte("new"), replace.Options{})
				} else {
					pair[0], pair[1] = pair[1], pair[0]
				}
			}
		})
		x, y := content(base+"/allow/a/d/x")+content(base+"/allow/b/d/x"), content(base+"/allow/a/e/y")+content(base+"/allow/b/e/y")
		if !strings.Contains(x, "x") || !strings.Contains(y, "y") || moved.Load() < 210 || w.Waiting() != 0 {
			t.Errorf("%d moved: %s", moved.Load(), snapshot(t, base+"/allow"))
		}
		noDrafts(t, base)
	}
}

// A program replaces the file all the time, each time with content that was never there
// before. Whatever is gone in the end was shown first, or replaced by that program.
func TestARemovalLosesNothingThatWasNotShown(t *testing.T) {
	base, p := only(t, "f")
	dir := base + "/allow"
	shown, made := map[string]bool{}, 0
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { // makes the file where there is none, and never overwrites
		for ; !stop.Load(); made++ {
			must(t, os.WriteFile(base+"/next", fmt.Append(nil, made), 0o644))
			for os.Link(base+"/next", dir+"/f") != nil && !stop.Load() {
			}
			must(t, os.Remove(base+"/next"))
		}
	})
	var w replace.Writer
	removed, refused, again := 0, 0, 0
	for removed < 300 {
		times := 0
		err := w.Remove(background, p, func(f *os.File, info confine.Info) error {
			times++
			var seen []string
			err := shows(&seen)(f, info)
			shown[seen[0]] = true
			return err
		})
		again += max(0, times-1)
		switch {
		case err == nil:
			removed++
		case errors.Is(err, fault.NotFound), errors.Is(err, fault.Unavailable):
			refused++
		default:
			t.Fatal(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	for _, name := range strings.Fields(names(t, dir)) {
		shown[content(dir+"/"+name)] = true
	}
	lost := 0
	for n := range made - 1 {
		if !shown[fmt.Sprint(n)] {
			lost++
		}
	}
	t.Logf("%d made, %d removed, %d refused, looked again %d times", made, removed, refused, again)
	if lost > 0 || made < 300 {
		t.Errorf("%d of %d were lost", lost, made)
	}
	noDrafts(t, base)
}

// An editor saves the file all the time while it is removed. A version goes only after
// it was shown, or because the editor itself put another there.
func TestAVersionThatWasNotShownIsStillThere(t *testing.T) {
	base, p := only(t, "f", "allow/f: start")
	var w replace.Writer
	n, last := 0, "start"
	w.When(replace.BeforeSwap, func() {
		if n++; n%3 != 0 { // the third look is in time
			last = fmt.Sprint("version ", n)
			must(t, replaced(base+"/allow", last))
		}
	})
	for range 50 {
		var seen []string
		err := w.Remove(background, p, shows(&seen))
		if err != nil || seen[len(seen)-1] != last || names(t, base+"/allow") != "" {
			t.Fatalf("%v: %q, last was %q", err, seen, last)
		}
		last = "start"
		plant(t, base, "allow/f: start")
	}
	if n < 100 {
		t.Error("nothing happened meanwhile")
	}
}

func TestADirectorySwappedForALinkLeadsNoMoveOrRemovalOutside(t *testing.T) {
	const changes = 800
	base := fixture(t, "allow/d/", "allow/in/", "allow/link => ../out")
	r := roots(t, base+"/allow", confine.Options{})
	swaps, stop := swapping(t, base+"/allow/d", base+"/allow/link")
	var w replace.Writer
	done, refused := 0, 0
	for n := 0; n < changes || min(done, refused, int(swaps.Load())) < changes/50 && n < forEver; n++ {
		plant(t, base, "allow/in/f: x")
		plant(t, base, "allow/in/t/g: x")
		for _, err := range []error{
			moved(&w, path(t, r, "in/f"), path(t, r, "d/f")),
			moved(&w, path(t, r, "in/t"), path(t, r, "d/t")),
			moved(&w, path(t, r, "d/secret"), path(t, r, "in/secret")),
			w.Remove(background, path(t, r, "d/secret"), nil),
			w.Remove(background, path(t, r, "d/f"), nil),
			w.RemoveTree(background, path(t, r, "d/t"), nil),
		} {
			switch {
			case err == nil:
				done++
			case errors.Is(err, fault.Forbidden):
				refused++
			case !errors.Is(err, fault.NotFound) && !errors.Is(err, fault.Exists):
				t.Fatalf("change %d: %v", n, err)
			}
		}
	}
	stop()
	t.Logf("%d swaps; %d done, %d refused", swaps.Load(), done, refused)
	if min(done, refused, int(swaps.Load())) < changes/50 {
		t.Error("the race did not take place")
	}
}

func moved(w *replace.Writer, from, to confine.Path) error {
	_, err := w.Move(background, from, to, replace.MoveOptions{})
	return err
}
