package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// forest is a tree of n files that hold their own names, in up to 350 directories.
func forest(t *testing.T, n int) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		name := fmt.Sprintf("d%d/e%d/f%d", i%7, i%50, i)
		write(t, filepath.Join(dir, name), name)
		names = append(names, name)
	}
	inOrder(names)
	return dir, names
}

var deep = walk.Options{Recursive: true, Hidden: true}

// content is the work of reading a file.
func content(_ context.Context, f walk.File) string {
	file, _, err := f.Open()
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	b, _ := io.ReadAll(file)
	return string(b)
}

func TestResultsComeInTheOrderOfTheWalk(t *testing.T) {
	dir, names := forest(t, 400)
	var got []string
	skipped, err := walk.Each(t.Context(), parse(t, dir, "."), deep, content, func(f walk.File, read string) bool {
		if f.Rel() != read {
			t.Errorf("%s came with the content of %s", f.Rel(), read)
		}
		got = append(got, f.Rel())
		return true
	})
	if err != nil || skipped != (walk.Skipped{}) || !slices.Equal(names, got) {
		t.Errorf("%v, %+v, %d files", err, skipped, len(got))
	}
}

func TestOnlyRegularFilesAreWorkedOn(t *testing.T) {
	dir := fixture(t, "a", "d/", "l => a", "new\nline/b\x1b", ".gitignore: ignored", "ignored")
	special := makeSpecial(t, filepath.Join(dir, "special"))
	var got []string
	skipped, err := walk.Each(t.Context(), parse(t, dir, "."), walk.Options{Recursive: true, Gitignore: true}, content, func(f walk.File, read string) bool {
		got = append(got, f.Rel()+"="+read)
		return true
	})
	must(t, err)
	if want := (walk.Skipped{Hidden: 1, Ignored: 1, Links: 1, Special: special}); skipped != want {
		t.Errorf("skipped %+v, want %+v", skipped, want)
	}
	if want := []string{"a=", "new\nline/b\x1b="}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestWorkRunsAtTheSameTime would wait for ever if it did not.
func TestWorkRunsAtTheSameTime(t *testing.T) {
	n := runtime.GOMAXPROCS(0)
	dir, _ := forest(t, n)
	var meeting sync.WaitGroup
	meeting.Add(n)
	_, err := walk.Each(t.Context(), parse(t, dir, "."), deep, func(context.Context, walk.File) bool {
		meeting.Done()
		meeting.Wait()
		return true
	}, func(walk.File, bool) bool { return true })
	must(t, err)
}

func TestDeliverEndsEverything(t *testing.T) {
	dir, names := forest(t, 600)
	before := openFiles()
	var begun, running atomic.Int32
	var got []string
	_, err := walk.Each(t.Context(), parse(t, dir, "."), deep, func(ctx context.Context, f walk.File) int {
		begun.Add(1)
		running.Add(1)
		defer running.Add(-1)
		if f.Rel() == names[20] {
			<-ctx.Done() // only the end of the walk frees this one
		}
		return 0
	}, func(f walk.File, _ int) bool {
		got = append(got, f.Rel())
		return len(got) < 10
	})
	if err != nil || !slices.Equal(got, names[:10]) {
		t.Errorf("%v, delivered %q", err, got)
	}
	if running.Load() != 0 {
		t.Errorf("%d are still running", running.Load())
	}
	if n := begun.Load(); n > 200 {
		t.Errorf("%d files were begun although only ten were wanted", n)
	}
	if left := openFiles() - before; left > 1 { // the allowed directory
		t.Errorf("%d files were left open", left)
	}
}

func TestAFileThatTakesLongHoldsTheOthersWithinBounds(t *testing.T) {
	dir, names := forest(t, 600)
	before := openFiles()
	var begun atomic.Int32
	most := 0
	release := make(chan bool)
	go func() {
		for begun.Load() < 8 {
			runtime.Gosched()
		}
		for still, n := 0, begun.Load(); still < 5000; still++ { // until nothing moves any more
			runtime.Gosched()
			if now := begun.Load(); now != n {
				still, n = 0, now
			}
		}
		most = openFiles() - before
		close(release)
	}()
	_, err := walk.Each(t.Context(), parse(t, dir, "."), deep, func(_ context.Context, f walk.File) int32 {
		n := begun.Add(1)
		if f.Rel() == names[0] {
			<-release
			return begun.Load()
		}
		return n
	}, func(f walk.File, n int32) bool {
		if f.Rel() == names[0] && n > 128 {
			t.Errorf("%d files were begun while the first was not done", n)
		}
		return true
	})
	must(t, err)
	if most > 200 {
		t.Errorf("%d files were open", most)
	}
}

func TestEachEndsWithItsContext(t *testing.T) {
	dir, _ := forest(t, 200)
	for _, where := range []string{"work", "deliver", "the last delivery"} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := walk.Each(ctx, parse(t, dir, "."), deep, func(ctx context.Context, f walk.File) bool {
			if where == "work" {
				cancel()
				<-ctx.Done()
			}
			return true
		}, func(walk.File, bool) bool {
			if n++; where == "deliver" && n == 5 || n == 200 {
				cancel()
			}
			return true
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, fault.TimedOut) {
			t.Errorf("in %s: %v", where, err)
		}
		cancel()
	}
}

func TestAPanicComesBackToTheCaller(t *testing.T) {
	dir, _ := forest(t, 200)
	for _, where := range []string{"work", "deliver"} {
		func() {
			defer func() {
				if v := recover(); !strings.Contains(fmt.Sprint(v), "oh no") {
					t.Errorf("in %s: recovered %v", where, v)
				}
			}()
			_, _ = walk.Each(t.Context(), parse(t, dir, "."), deep, func(_ context.Context, f walk.File) bool {
				if where == "work" && strings.HasSuffix(f.Name, "7") {
					panic("oh no")
				}
				return true
			}, func(walk.File, bool) bool {
				if where == "deliver" {
					panic("oh no")
				}
				return true
			})
			t.Errorf("in %s: no panic", where)
		}()
	}
}

func TestARootThatCannotBeListedEndsEach(t *testing.T) {
	dir := fixture(t, "file")
	_, err := walk.Each(t.Context(), parse(t, dir, "file"), deep, content, func(walk.File, string) bool { return true })
	if !errors.Is(err, fault.ParamInvalid) {
		t.Error(err)
	}
	var none confine.Path
	if _, err := walk.Each(t.Context(), none, deep, content, func(walk.File, string) bool { return true }); err == nil {
		t.Error("the zero path was walked")
	}
}

func TestAWalkThatBeginsBehindAPathLosesNothingBehindIt(t *testing.T) {
	dir := fixture(t, "a", "b/c", "b/d/e", "b/d/f", "b.x", "g/h", "z/")
	visited := func(after string) []string {
		var got []string
		o := walk.Options{Recursive: true, Hidden: true, After: after}
		_, err := walk.All(t.Context(), parse(t, dir, "."), o, func(context.Context, walk.File) bool { return true }, func(f walk.File, _ bool) bool {
			got = append(got, f.Rel())
			return true
		})
		must(t, err)
		return got
	}
	all := visited("")
	for i, after := range append(all, "b/d/eee", "b/d/e/x", "nothing") {
		got := visited(after)
		if i < len(all) && !slices.Equal(got[len(got)-len(all[i+1:]):], all[i+1:]) {
			t.Errorf("behind %s: %q", after, got)
		}
		for _, rel := range got {
			if slices.Index(all, rel) < slices.Index(all, after) && !strings.HasPrefix(after, rel+"/") {
				t.Errorf("behind %s: %s", after, rel)
			}
		}
	}
}
