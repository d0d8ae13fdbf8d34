//go:build linux || darwin

package confine_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestAReaderServesOneFileAfterTheOther(t *testing.T) {
	base := fixture(t, "allow/d/f", "allow/d/g", "allow/d/p |", "allow/d/empty")
	long := strings.Repeat("0123456789", 1000)
	if err := errors.Join(os.WriteFile(base+"/allow/d/g", []byte(long), 0o644), os.Truncate(base+"/allow/d/empty", 0)); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, roots(t, confine.ByWalk, confine.Options{}, base), "d")
	var r confine.Reader
	if _, err := r.Read(make([]byte, 8)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading of a closed one: %v", err)
	}
	for name, want := range map[string]string{"f": "allow/d/f", "g": long, "empty": ""} {
		if err := d.OpenReader(name, &r); err != nil { // the one before is still open
			t.Fatal(err)
		}
		info, err := d.Info(name)
		stamp, kind, stampErr := d.StampOf(name)
		if err != nil || stampErr != nil || kind != confine.File || r.Stamp() != stamp || stamp != info.Stamp || r.Size() != int64(len(want)) {
			t.Errorf("%s: %+v, %+v, %+v, %v, %v", name, r.Stamp(), stamp, info.Stamp, err, stampErr)
		}
		part := make([]byte, 4)
		if n, err := r.ReadAt(part, int64(len(want))-2); len(want) > 0 && (n != 2 || err != io.EOF || !strings.HasSuffix(want, string(part[:n]))) {
			t.Errorf("%s: the last two bytes: %d, %v", name, n, err)
		}
		if got, err := io.ReadAll(&r); err != nil || string(got) != want {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		if n, err := r.Read(part); n != 0 || err != io.EOF {
			t.Errorf("%s: after the end: %d, %v", name, n, err)
		}
	}
	if err := d.OpenReader("p", &r); !errors.Is(err, fault.ParamInvalid) {
		t.Errorf("a FIFO: %v", err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if _, err := r.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading after the end of all: %v", err)
	}
}

func TestReadersLeaveNothingOpen(t *testing.T) {
	base := fixture(t, "allow/f", "allow/d/", "allow/p |", "allow/l => f")
	d := openDir(t, roots(t, confine.ByWalk, confine.Options{}, base), ".")
	before := openFiles()
	var r confine.Reader
	for range 50 {
		for _, name := range []string{"f", "d", "p", "l", "none"} {
			_ = d.OpenReader(name, &r)
			_ = d.Path().Child(name).OpenReader(&r)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left := openFiles() - before; left > 0 {
		t.Errorf("%d are left open", left)
	}
}

// openFiles counts the descriptors of this process; 0 where that is not known.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func TestAChangedDirectoryHasAnotherStamp(t *testing.T) {
	base := fixture(t, "allow/d/f")
	r := roots(t, confine.ByWalk, confine.Options{}, base)
	before := openDir(t, r, "d").Stamp()
	if before == (confine.Stamp{}) || openDir(t, r, "d").Stamp() != before {
		t.Errorf("%+v", before)
	}
	when := time.Unix(1_700_000_000, 0)
	if err := errors.Join(os.WriteFile(base+"/allow/d/g", nil, 0o644), os.Chtimes(base+"/allow/d", when, when)); err != nil {
		t.Fatal(err)
	}
	if after := openDir(t, r, "d").Stamp(); after == before || after.Ino != before.Ino || after.Modified != when.UnixNano() {
		t.Errorf("%+v after %+v", after, before)
	}
}

// Go interrupts a thread to run another goroutine on it, and a directory read that is
// interrupted gives what it has: taking a short one for the last loses files.
func TestInterruptionsLoseNoEntries(t *testing.T) {
	base := fixture(t)
	const files = 3000
	for i := range files {
		if err := os.WriteFile(fmt.Sprintf("%s/allow/%s-%d", base, strings.Repeat("x", 40), i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := roots(t, confine.ByWalk, confine.Options{}, base)
	var done atomic.Bool
	var busy sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for !done.Load() {
				runtime.GC()
			}
		})
	}
	defer busy.Wait()
	defer done.Store(true)
	fewest, most := 1<<30, 0 // calls that a listing takes; a call that is cut short makes it more
	for begun, reads := time.Now(), 0; reads < 20 || most == fewest && time.Since(begun) < 5*time.Second; reads++ {
		d := openDir(t, r, ".")
		var entries []confine.Entry
		var err error
		calls := 0
		for err == nil {
			entries, err = d.Append(entries)
			calls++
		}
		fewest, most = min(fewest, calls), max(most, calls)
		slices.SortFunc(entries, func(a, b confine.Entry) int { return strings.Compare(a.Name, b.Name) })
		if n := len(slices.Compact(entries)); err != io.EOF || n != files {
			t.Fatalf("%d of %d entries, %v", n, files, err)
		}
		d.Close()
	}
	t.Logf("a listing took from %d to %d calls", fewest, most)
	if runtime.GOOS == "linux" && most == fewest {
		t.Error("none was interrupted: nothing was tested")
	}
}

func TestNoMemoryIsTakenForAFile(t *testing.T) {
	base := fixture(t, "allow/d/f", "allow/d/.environment")
	d := openDir(t, roots(t, confine.ByWalk, confine.Options{DenySecrets: true, Deny: []string{"private", "a/b"}}, base), "d")
	var r confine.Reader
	buf := make([]byte, 64)
	for _, name := range []string{"f", ".environment"} {
		if n := testing.AllocsPerRun(100, func() {
			if err := d.OpenReader(name, &r); err != nil {
				t.Error(err)
			}
			r.Read(buf)
			d.StampOf(name)
			r.Close()
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestWhatWasListedAsAFileIsNotReadAsAnythingElse(t *testing.T) {
	base := fixture(t, "allow/d/f", "allow/d/g", "allow/other/", "allow/d/l")
	dir := base + "/allow/d/"
	d := openDir(t, roots(t, confine.ByWalk, confine.Options{}, base), "d")
	entries, err := d.Append(nil)
	if err != io.EOF && err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	swap := map[string]func() error{
		"f": func() error { return syscall.Mkfifo(dir+"f", 0o600) },
		"g": func() error { return os.Mkdir(dir+"g", 0o700) },
		"l": func() error { return os.Symlink("../other", dir+"l") },
	}
	var r confine.Reader
	for _, e := range entries {
		if err := errors.Join(os.Remove(dir+e.Name), swap[e.Name]()); err != nil {
			t.Fatal(err)
		}
		err := d.OpenListed(e, &r)
		if err == nil {
			var n int
			if n, err = r.Read(make([]byte, 8)); n != 0 {
				t.Errorf("%s: read %d bytes", e.Name, n)
			}
		}
		if err == nil || err == io.EOF {
			t.Errorf("%s: %v", e.Name, err)
		}
		if r.Size() != 0 || r.Stamp() != (confine.Stamp{}) {
			t.Errorf("%s has a stamp", e.Name)
		}
		if err := d.OpenListed(confine.Entry{Name: e.Name, Type: confine.Other}, &r); err == nil {
			t.Errorf("%s is opened as what it is not", e.Name)
		}
	}
}

func TestAFileThatGoesOnIsDescribedAfterAll(t *testing.T) {
	base := fixture(t, "allow/d/f")
	if err := os.WriteFile(base+"/allow/d/f", make([]byte, 10_000), 0o644); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, roots(t, confine.ByWalk, confine.Options{}, base), "d")
	var r confine.Reader
	if err := d.OpenListed(confine.Entry{Name: "f", Type: confine.File}, &r); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, &r); n != 10_000 || err != nil || r.Size() != n || r.Stamp().Ino == 0 {
		t.Errorf("%d bytes of %d, %v, %+v", n, r.Size(), err, r.Stamp())
	}
}
