package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// swapping exchanges two names as fast as the kernel can, until the function it returns
// is called, which tells how often, and leaves them as they were.
func swapping(t *testing.T, a, b string) (swaps *atomic.Int64, stop func()) {
	t.Helper()
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

// forEver is how often a race is tried until both sides of it were seen: on a busy machine one of them
// may wait for long.
const forEver = 1_000_000

// checkFirst is the program that this server is not: it looks whether the directory is a
// link and then creates a file in it. It tells how many landed in outside.
func checkFirst(dir, outside string) (lost int) {
	for range forEver {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		if os.WriteFile(dir+"/probe", nil, 0o644) != nil {
			continue
		}
		if os.Remove(outside+"/probe") == nil {
			if lost++; lost == 3 {
				break
			}
		}
	}
	for _, d := range []string{dir, outside} {
		_ = os.Remove(d + "/probe") // mostly it is not there
	}
	return lost
}

// An attacker exchanges a directory on the way for a link to one outside, all the time
// (CWE-367). The process is not restricted, for then the kernel would refuse as well.
func TestADirectorySwappedForALinkLeadsNoCallOutside(t *testing.T) {
	const calls, atOnce = 500, 8 // of each of four kinds
	for _, c := range []struct {
		what, dir, link, outside string // under the base
		refuses                  bool   // both outcomes must occur
		flags                    []string
	}{
		{"a directory in the allowed one", "allow/d", "allow/link", "out/d", true, nil},
		{"a directory above the file's", "allow/p", "allow/link", "out", true, nil},
		{"the allowed directory itself", "allow", "link", "out", false, nil},
		{"links within are followed", "allow/d", "allow/link", "out/d", true, []string{"--symlinks", "within"}},
	} {
		base := roomy(t)
		name := "d/f"
		h := newHouse(t, base, "d/f=old", "p/d/f=old")
		if c.dir == "allow/p" {
			name = "p/d/f"
		}
		must(t, os.MkdirAll(base+"/out/d", 0o755))
		must(t, errors.Join(os.WriteFile(base+"/out/d/f", []byte("SECRET"), 0o644), os.WriteFile(base+"/out/f", []byte("SECRET"), 0o644), os.Symlink(base+"/"+c.outside, base+"/"+c.link)))
		server := h.start(append(c.flags, "--restrict", "off")...)
		swaps, stop := swapping(t, base+"/"+c.dir, base+"/"+c.link)
		done, refused, others := 0, 0, map[string]int{}
		raced := func() bool { return min(done, int(swaps.Load())) >= calls/50 && (!c.refuses || refused >= calls/50) }
		for n := 0; n < calls || !raced() && n < forEver; n += atOnce {
			for _, code := range burst(server, name, n, atOnce) {
				switch code {
				case "":
					done++
				case "SECURITY_002", "SECURITY_003":
					refused++
				case "PARAM_002", "RESOURCE_003", "RESOURCE_004": // what is to be edited or deleted is not there
					others[code]++
				default:
					t.Fatalf("%s: %s", c.what, code)
				}
			}
		}
		lost := checkFirst(base+"/"+c.dir, base+"/"+c.outside)
		stop()
		server.Close()
		outside, drafts := filesIn(t, base+"/out")
		if want := map[string]string{"d/f": "SECRET", "f": "SECRET"}; !maps.Equal(outside, want) || drafts > 0 {
			t.Fatalf("%s: outside there is %q and %d drafts", c.what, outside, drafts)
		}
		t.Logf("%s: %d swaps; %d done, %d refused; otherwise: %v; check-then-write outside: %d", c.what, swaps.Load(), done, refused, others, lost)
		if _, drafts := filesIn(t, h.dir); drafts > 0 {
			t.Errorf("%s: %d drafts are left", c.what, drafts)
		}
		if !raced() || lost == 0 {
			t.Errorf("%s: the race did not take place", c.what)
		}
		h.onlyOurs(c.what)
	}
}

// burst makes calls of every kind at once and tells their codes.
func burst(server *mcptest.Client, name string, n, atOnce int) (codes []string) {
	dir := strings.TrimSuffix(name, "f")
	var waiting []*mcptest.Pending
	for i := range atOnce {
		text := fmt.Sprintf("call %d", n+i)
		switch i % 4 {
		case 0:
			waiting = append(waiting, ask(server, "file_write", map[string]any{"path": name, "content": text, "overwrite": true, "create_parents": false}))
		case 1:
			waiting = append(waiting, ask(server, "edit_file", map[string]any{"path": name, "edits": []any{map[string]any{"old_string": "call", "new_string": "called"}}}))
		case 2:
			waiting = append(waiting, ask(server, "file_write", map[string]any{"path": dir + fmt.Sprintf("new-%d", n+i), "content": text}))
		case 3:
			waiting = append(waiting, ask(server, "delete_file", map[string]any{"path": dir + fmt.Sprintf("new-%d", n+i-1-atOnce)}))
		}
	}
	for _, p := range waiting {
		codes = append(codes, p.Result().Code)
	}
	return codes
}

// onlyOurs checks that the history holds nothing from outside.
func (h house) onlyOurs(what string) {
	h.t.Helper()
	kept := 0
	must(h.t, fs.WalkDir(os.DirFS(h.history), "objects", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(h.history + "/" + path)
		if kept++; strings.Contains(string(b), "SECRET") {
			h.t.Errorf("%s: the history holds what is outside", what)
		}
		return err
	}))
	if kept == 0 {
		h.t.Errorf("%s: the history holds nothing", what)
	}
}
