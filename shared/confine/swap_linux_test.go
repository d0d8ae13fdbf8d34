package confine_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// An attacker exchanges what lies on the way for a link to a directory outside,
// as fast as the kernel can, while files are opened (CWE-367). The test fails when
// a single read shows the secret, and also when the race did not take place: both
// outcomes must occur in number, and a program that checks first and opens then
// must be seen to lose.
func TestSwapsBetweenCheckAndOpenNeverEscape(t *testing.T) {
	opens, err := strconv.Atoi(os.Getenv("SWAPS"))
	if err != nil {
		opens = 40_000
	}
	tree := []string{"allow/a/d/f", "allow/a/link => ../../out", "allow/a/d/filelink => ../../../out/f", "out/f"}
	byPath := func(p confine.Path, _ *confine.Dir) (string, error) { return content(p.Open()) }
	byDirectory := func(p confine.Path, a *confine.Dir) (string, error) {
		d, err := a.OpenDir("d")
		if err != nil {
			return "", err
		}
		defer d.Close()
		return content(d.Open("f"))
	}
	var file confine.Reader
	byReader := func(p confine.Path, _ *confine.Dir) (string, error) { return through(&file, p.OpenReader(&file)) }
	byEntry := func(p confine.Path, a *confine.Dir) (string, error) {
		d, err := a.OpenDir("d")
		if err != nil {
			return "", err
		}
		defer d.Close()
		return through(&file, d.OpenListed(confine.Entry{Name: "f", Type: confine.File}, &file))
	}
	eachMechanism(t, func(t *testing.T, by confine.Mechanism) {
		for _, c := range []struct {
			what  string
			o     confine.Options
			swap  [2]string
			read  func(confine.Path, *confine.Dir) (string, error)
			opens int
		}{
			{"a directory on the way", confine.Options{}, [2]string{"d", "link"}, byPath, opens},
			{"the file itself", confine.Options{}, [2]string{"d/f", "d/filelink"}, byPath, opens / 4},
			{"a directory on the way, links followed", confine.Options{Symlinks: confine.Within}, [2]string{"d", "link"}, byPath, opens / 4},
			{"a directory opened first", confine.Options{}, [2]string{"d", "link"}, byDirectory, opens / 4},
			{"the file itself, by a reader", confine.Options{}, [2]string{"d/f", "d/filelink"}, byReader, opens / 8},
			{"an entry, by a reader", confine.Options{}, [2]string{"d/f", "d/filelink"}, byEntry, opens / 4},
			{"a directory opened first, by a reader", confine.Options{}, [2]string{"d", "link"}, byEntry, opens / 8},
		} {
			t.Run(c.what, func(t *testing.T) {
				base := fixture(t, tree...)
				r := roots(t, by, c.o, base)
				p, err := r.Parse("a/d/f")
				if err != nil {
					t.Fatal(err)
				}
				a := openDir(t, r, "a")
				swaps, stop := swapping(t, base+"/allow/a/"+c.swap[0], base+"/allow/a/"+c.swap[1])
				tally := race(t, c.opens, swaps, func() (string, error) { return c.read(p, a) })
				lost := checkFirst(base+"/allow", base+"/allow/a/d/f")
				stop()
				t.Logf("%d swaps; %d read inside, %d refused, %d opens; check-then-open reads outside: %d", swaps.Load(), tally.inside, tally.refused, tally.opens, lost)
				if least := c.opens / 200; min(tally.inside, tally.refused, int(swaps.Load())) < least || lost == 0 {
					t.Error("the race did not take place")
				}
			})
		}
	})
}

// swapping exchanges two names, counting how often, until the function it returns is called.
func swapping(t *testing.T, a, b string) (swaps *atomic.Int64, stop func()) {
	var wg sync.WaitGroup
	var done atomic.Bool
	swaps = new(atomic.Int64)
	wg.Go(func() {
		for !done.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swapping: %v", err)
				return
			}
			swaps.Add(1)
		}
	})
	stop = func() {
		done.Store(true)
		wg.Wait()
	}
	t.Cleanup(stop)
	return swaps, stop
}

type tally struct{ opens, inside, refused int }

// forEver is how often a race is tried until both sides of it were seen: on a busy machine one of them
// may wait for long.
const forEver = 10_000_000

// race reads at least opens times, and further until both outcomes occurred in
// number, but not for ever.
func race(t *testing.T, opens int, swaps *atomic.Int64, read func() (string, error)) (n tally) {
	t.Helper()
	for n.opens < opens || min(n.inside, n.refused, int(swaps.Load())) < opens/200 && n.opens < forEver {
		got, err := read()
		n.opens++
		switch {
		case err == nil && got == "allow/a/d/f":
			n.inside++
		case errors.Is(err, fault.Forbidden), errors.Is(err, fault.OutsideAllowed):
			n.refused++
		case err == nil:
			t.Fatalf("ESCAPED: read %q", got)
		default:
			t.Fatalf("open %d: %v, want the file or SECURITY_002 or _003", n.opens, err)
		}
	}
	return n
}

// checkFirst is the program that this package exists to replace: it resolves the
// links of a name, compares the prefix, and then opens the name.
func checkFirst(root, name string) (lost int) {
	for range forEver {
		real, err := filepath.EvalSymlinks(name)
		if err != nil || len(real) < len(root) || real[:len(root)] != root {
			continue
		}
		if b, err := os.ReadFile(name); err == nil && string(b) == secret {
			if lost++; lost == 3 {
				break
			}
		}
	}
	return lost
}
