package replace_test

import (
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
)

// An attacker exchanges the directory for a link to one outside, as fast as the kernel
// can, while files in it are changed (CWE-367). The test fails when anything outside
// changes, and when the race did not take place: both outcomes must occur in number,
// and a program that checks first and writes then must be seen to lose.
func TestADirectorySwappedForALinkLeadsNoChangeOutside(t *testing.T) {
	const writes = 2500
	eachWay(t, func(t *testing.T, w *replace.Writer) {
		base := fixture(t, "allow/d/f: old", "allow/link => ../out")
		r := roots(t, base+"/allow", confine.Options{})
		swaps, stop := swapping(t, base+"/allow/d", base+"/allow/link")
		inside, refused := 0, 0
		for n := 0; n < writes || min(inside, refused, int(swaps.Load())) < writes/50 && n < forEver; n++ {
			err := change(w, path(t, r, "d/f"), path(t, r, "d/secret"), n)
			switch {
			case err == nil:
				inside++
			case errors.Is(err, fault.Forbidden):
				refused++
			default:
				t.Fatalf("write %d: %v, want success or SECURITY_003", n, err)
			}
		}
		lost := checkFirst(base, forEver)
		stop()
		t.Logf("%d swaps; %d written, %d refused; check-then-write outside: %d", swaps.Load(), inside, refused, lost)
		if min(inside, refused, int(swaps.Load())) < writes/50 || lost == 0 {
			t.Error("the race did not take place")
		}
	})
}

// change does one of the three kinds of change. What it writes is never SECRET.
func change(w *replace.Writer, f, secret confine.Path, n int) error {
	var err error
	switch text := letters(n % 3); n % 4 {
	case 0:
		_, err = w.Replace(background, f, []byte(text), replace.Options{})
	case 1:
		_, err = w.Update(background, f, becoming(text))
	case 2: // the name of the file outside: creating or replacing it there would show
		_, err = w.Replace(background, secret, []byte(text), replace.Options{})
	case 3:
		if _, err = w.Create(background, secret, []byte(text), replace.Options{}); errors.Is(err, fault.Exists) {
			err = nil
		}
	}
	return err
}

// forEver is how often a race is tried until both sides of it were seen: on a busy machine one of them
// may wait for long.
const forEver = 1_000_000

// swapping exchanges two names, counting how often, until the function it returns is called, which leaves
// them as they were.
func swapping(t *testing.T, a, b string) (swaps *atomic.Int64, stop func()) {
	var wg sync.WaitGroup
	var done atomic.Bool
	swaps = new(atomic.Int64)
	wg.Go(func() {
		for ; !done.Load() || swaps.Load()%2 == 1; swaps.Add(1) {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swapping: %v", err)
				return
			}
		}
	})
	stop = func() {
		done.Store(true)
		wg.Wait()
	}
	t.Cleanup(stop)
	return swaps, stop
}

// checkFirst is the program that this package exists to replace: it looks whether the
// directory is a link and then creates a file in it. It tells how many landed outside.
func checkFirst(base string, most int) (lost int) {
	const probe = "/probe"
	for range most {
		if info, err := os.Lstat(base + "/allow/d"); err != nil || !info.IsDir() {
			continue
		}
		if os.WriteFile(base+"/allow/d"+probe, nil, 0o644) != nil {
			continue
		}
		if os.Remove(base+"/out"+probe) == nil {
			if lost++; lost == 3 {
				break
			}
		}
	}
	for _, dir := range []string{"/out", "/allow/d"} {
		_ = os.Remove(base + dir + probe) // mostly it is not there
	}
	return lost
}

func TestTheSwappedDirectoryHoldsOnlyWhatWasWritten(t *testing.T) {
	base, p := only(t, "d/f", "allow/d/f: old", "allow/link => ../out")
	_, stop := swapping(t, base+"/allow/d", base+"/allow/link")
	var w replace.Writer
	for n := range 500 {
		if _, err := w.Replace(background, p, []byte(letters(n)), replace.Options{}); err != nil && !errors.Is(err, fault.Forbidden) {
			t.Error(err)
		}
	}
	stop()
	if got := names(t, base+"/allow/d"); got != "f" || !whole(content(base+"/allow/d/f")) && !strings.HasPrefix(content(base+"/allow/d/f"), "old") {
		t.Error(got)
	}
}
