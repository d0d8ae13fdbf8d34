package walk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
)

// everything is what All delivers, each with what work made of it.
func everything(t *testing.T, root confine.Path, o walk.Options) ([]string, walk.Skipped) {
	t.Helper()
	seen := []string{}
	skipped, err := walk.All(t.Context(), root, o, func(_ context.Context, f walk.File) string { return f.Rel() }, func(f walk.File, worked string) bool {
		if f.Rel() != worked {
			t.Errorf("%s came with the result of %s", f.Rel(), worked)
		}
		mark := map[confine.Type]string{confine.Directory: "/", confine.Symlink: "@"}[f.Type]
		seen = append(seen, f.Rel()+mark)
		return true
	})
	must(t, err)
	return seen, skipped
}

// TestManyWorkersDeliverWhatOneDoes holds the work of many to that of one, in the order
// of which there is no doubt.
func TestManyWorkersDeliverWhatOneDoes(t *testing.T) {
	dir := plantation(t, seeded(t))
	write(t, filepath.Join(dir, "src/.env"), "x")
	for _, o := range []walk.Options{
		{}, {Recursive: true}, {Recursive: true, Hidden: true}, {Recursive: true, Hidden: true, Gitignore: true}, {Recursive: true, MaxDepth: 2},
		{Recursive: true, Hidden: true, Exclude: globs(t, "**/deep")}, {Recursive: true, Hidden: true, Ahead: 1},
	} {
		root := parseWith(t, dir, ".", confine.Options{DenySecrets: true})
		alone := o
		alone.Workers = 1
		want, wantSkipped := visited(t, root, alone)
		o.Workers = 8
		got, skipped := everything(t, root, o)
		if !slices.Equal(got, want) || skipped != wantSkipped {
			t.Errorf("%+v: %q, %+v; one worker says %q, %+v", o, got, skipped, want, wantSkipped)
		}
	}
}

// TestManyGoroutinesKeepTheOrder has far more of them than there are processors, and
// work that takes different times.
func TestManyGoroutinesKeepTheOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	dir, names := forest(t, 500)
	for _, ahead := range []int{1, 7, 1000} {
		o := deep
		o.Ahead = ahead
		var got []string
		var running, most atomic.Int32
		_, err := walk.Each(t.Context(), parse(t, dir, "."), o, func(_ context.Context, f walk.File) string {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			for range len(f.Name) * int(f.Name[len(f.Name)-1]-'0') {
				runtime.Gosched()
			}
			return f.Rel()
		}, func(f walk.File, name string) bool {
			got = append(got, name)
			return f.Rel() == name
		})
		if err != nil || !slices.Equal(got, names) {
			t.Errorf("%d ahead: %v, %d files", ahead, err, len(got))
		}
		if ahead == 1000 && most.Load() < 4 {
			t.Errorf("no more than %d ran at the same time", most.Load())
		}
	}
}

func TestAnEarlyEndHasOpenedFewFiles(t *testing.T) {
	dir, names := forest(t, 600)
	for _, wanted := range []int{1, 30} {
		var opened atomic.Int32
		n := 0
		_, err := walk.Each(t.Context(), parse(t, dir, "."), deep, func(ctx context.Context, f walk.File) string {
			opened.Add(1)
			return content(ctx, f)
		}, func(f walk.File, read string) bool {
			n++
			return n < wanted && read == names[n-1]
		})
		must(t, err)
		if got := int(opened.Load()); n != wanted || got > 3*wanted+60 {
			t.Errorf("%d delivered, %d opened, where %d were wanted", n, got, wanted)
		}
	}
}

// TestADirectoryOfManyEntries would take a while if anything in it were quadratic.
func TestADirectoryOfManyEntries(t *testing.T) {
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "walk-test"); err == nil {
		dir = shm
		t.Cleanup(func() { os.RemoveAll(shm) })
	}
	const entries = 100_000
	for i := range entries {
		if i%10 == 0 { // links are quicker made than files
			must(t, os.Symlink("x", fmt.Sprintf("%s/%06d.link", dir, i)))
			continue
		}
		name := fmt.Sprintf("%s/%06d.txt", dir, i)
		if i == 1 {
			write(t, name, "")
			continue
		}
		if err := os.Link(dir+"/000001.txt", name); err != nil {
			write(t, name, "")
		}
	}
	last, n, opened := "", 0, openFiles()
	skipped, err := walk.Each(t.Context(), parse(t, dir, "."), walk.Options{}, func(_ context.Context, f walk.File) string { return f.Name }, func(f walk.File, name string) bool {
		if n++; name <= last || f.Name != name {
			t.Errorf("%s after %s", name, last)
		}
		last = name
		return true
	})
	if err != nil || n != entries*9/10 || skipped != (walk.Skipped{Links: entries / 10}) {
		t.Errorf("%d files, %+v, %v", n, skipped, err)
	}
	if left := openFiles() - opened; left > 1 { // the allowed directory
		t.Errorf("%d were left open", left)
	}
}

// TestNoMoreDirectoriesAreOpenThanAreNeeded goes deeper than a walk may hold open.
func TestNoMoreDirectoriesAreOpenThanAreNeeded(t *testing.T) {
	dir := t.TempDir()
	at := dir
	var want []string
	rel := ""
	for range 120 {
		for _, name := range []string{"a", "z"} {
			must(t, os.WriteFile(filepath.Join(at, name), []byte(rel+name), 0o644))
			want = append(want, rel+name)
		}
		at, rel = filepath.Join(at, "d"), rel+"d/"
		must(t, os.Mkdir(at, 0o755))
	}
	inOrder(want)
	before := openFiles()
	var most atomic.Int32
	var got []string
	_, err := walk.Each(t.Context(), parse(t, dir, "."), deep, func(ctx context.Context, f walk.File) string {
		most.Store(max(most.Load(), int32(openFiles()-before)))
		return content(ctx, f)
	}, func(f walk.File, read string) bool {
		got = append(got, read)
		return strings.HasSuffix(read, f.Name)
	})
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("%d of %d files in order", len(got), len(want))
	}
	if n := most.Load(); n > 50 {
		t.Errorf("%d were open at a time", n)
	}
	if left := openFiles() - before; left > 1 {
		t.Errorf("%d were left open", left)
	}
}
