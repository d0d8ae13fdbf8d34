//go:build linux || darwin

package history_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestEntriesComeInTheOrderOfNamesEachDirectoryWhole(t *testing.T) {
	w := newTree(t, confine.Options{}, "allow/d/b=1", "allow/d/a/z=2", "allow/d/a/y/", "allow/d/a.txt=3", "allow/d/B => b", "allow/d/a/c/x=4")
	w.chmod("d/a", 0o750)
	packed, _ := w.pack("d")
	again, _ := w.pack("d")
	if !bytes.Equal(packed, again) {
		t.Error("packed twice it is not the same")
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "a/" && h.Mode != 0o750 || h.Name == "b" && (h.Mode != 0o644 || h.ModTime.IsZero()) {
			t.Errorf("%s: %o %v", h.Name, h.Mode, h.ModTime)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "B a/ a/c/ a/c/x a/y/ a/z a.txt b" {
		t.Error(got)
	}
}

func TestWhatCouldNotBeGivenBackIsNotTaken(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []string
		options confine.Options
		more    func(*treeWorld) error
		code    fault.Code
		tells   string
	}{
		{"a FIFO", nil, confine.Options{}, func(w *treeWorld) error { return unix.Mkfifo(w.at("d/sub/pipe"), 0o600) }, fault.ParamInvalid, "d/sub/pipe"},
		{"a socket", nil, confine.Options{}, func(w *treeWorld) error {
			l, err := net.Listen("unix", w.at("d/s"))
			if err == nil {
				w.Cleanup(func() { l.Close() })
			}
			return err
		}, fault.ParamInvalid, "d/s"},
		{"a name with a newline", []string{"allow/d/a\nb=x"}, confine.Options{}, nil, fault.ParamInvalid, `d/a\nb`},
		{"a directory with an escape code in its name", []string{"allow/d/\x1b[31m/f=x"}, confine.Options{}, nil, fault.ParamInvalid, `d/\x1b[31m`},
		{"a file that is denied, without its name", []string{"allow/d/sub/private=x"}, confine.Options{Deny: []string{"private"}}, nil, fault.OutsideAllowed, `"d/sub"`},
		{"directories too deep in one another", []string{"allow/d/" + strings.Repeat("x/", 600)}, confine.Options{}, nil, fault.LimitReached, "deep"},
		{"a path that could not be opened", []string{"allow/d/" + strings.Repeat(strings.Repeat("x", 200)+"/", 17) + "f=x"}, confine.Options{}, func(w *treeWorld) error {
			long := strings.Repeat("y", 200)
			return renameInto(w.at("d/"+strings.Repeat(strings.Repeat("x", 200)+"/", 17)), long, 3)
		}, fault.ParamInvalid, "too long"},
		{"a file that cannot be opened", nil, confine.Options{}, func(w *treeWorld) error {
			if os.Geteuid() == 0 {
				return errors.ErrUnsupported
			}
			return os.Chmod(w.at("d/sub/f"), 0)
		}, fault.PermissionDenied, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTree(t, c.options, append(c.entries, "allow/d/sub/f=x")...)
			if c.more != nil {
				if err := c.more(w); errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			count, err := history.Pack(t.Context(), io.Discard, w.dir("d"))
			refusedAs(t, "packing", err, c.code)
			if err != nil && !strings.Contains(err.Error(), c.tells) || count != (history.Count{}) {
				t.Errorf("%v, %+v", err, count)
			}
			if strings.Contains(c.name, "denied") && strings.Contains(err.Error(), "private") {
				t.Error("a denied name is told")
			}
		})
	}
}

// renameInto makes n directories in dir, each in the one before, further down than a
// path can name.
func renameInto(dir, name string, n int) error {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	for range n {
		if err == nil {
			err = unix.Mkdirat(fd, name, 0o755)
		}
		if err != nil {
			return err
		}
		next, e := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
		_ = unix.Close(fd)
		fd, err = next, e
	}
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// meddler does something to the fixture when an entry's header is written: before that
// the entry was looked at, and after it the content is read.
type meddler struct {
	entry string
	do    func()
	done  bool
}

func (m *meddler) Write(b []byte) (int, error) {
	if !m.done && bytes.HasPrefix(b, []byte(m.entry+"\x00")) {
		m.done = true
		m.do()
	}
	return len(b), nil
}

func TestAChangeWhileItIsReadIsNoticed(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name string
		at   string // the entry at whose header it happens
		do   func(w *treeWorld) error
		code fault.Code
	}{
		{"a file grows", "b", func(w *treeWorld) error { return appendTo(w.at("d/b"), "y") }, fault.Unavailable},
		{"a file becomes shorter", "b", func(w *treeWorld) error { return os.Truncate(w.at("d/b"), 10) }, fault.Unavailable},
		{"a file is emptied", "b", func(w *treeWorld) error { return os.Truncate(w.at("d/b"), 0) }, fault.Unavailable},
		{"a file is written anew, as long as before", "b", func(w *treeWorld) error {
			if err := os.WriteFile(w.at("d/b"), []byte(strings.Repeat("y", 100_000)), 0o644); err != nil {
				return err
			}
			return os.Chtimes(w.at("d/b"), time.Time{}, time.Unix(1, 0))
		}, fault.Unavailable},
		{"the next file is gone", "b", func(w *treeWorld) error { return os.Remove(w.at("d/c")) }, fault.NotFound},
		{"the next file is a link to another by now", "b", func(w *treeWorld) error { return become(w.at("d/c"), "../other/f") }, fault.Unavailable},
		{"the next file is a link to the outside by now", "b", func(w *treeWorld) error { return become(w.at("d/c"), "../../out/secret") }, fault.OutsideAllowed},
		{"the next directory is a link to another by now", "c", func(w *treeWorld) error { return become(w.at("d/e"), "../other") }, fault.Unavailable},
		{"the next link is a file by now", "c", func(w *treeWorld) error {
			return errors.Join(os.RemoveAll(w.at("d/e")), os.Remove(w.at("d/l")), os.WriteFile(w.at("d/l"), nil, 0o600), os.Mkdir(w.at("d/e"), 0o700))
		}, fault.ParamInvalid},
	} {
		w := newTree(t, confine.Options{Symlinks: confine.Within}, "allow/d/b="+long, "allow/d/c=c", "allow/d/e/f=f", "allow/d/l => b", "allow/other/f=other")
		m := &meddler{entry: c.at, do: func() {
			if err := c.do(w); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}}
		_, err := history.Pack(t.Context(), m, w.dir("d"))
		if refusedAs(t, c.name, err, c.code); !m.done {
			t.Errorf("%s: nothing happened meanwhile", c.name)
		}
	}
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func become(name, target string) error {
	return errors.Join(os.RemoveAll(name), os.Symlink(target, name))
}

func TestAnErrorOfTheWriterEndsPackingAndIsReturned(t *testing.T) {
	w := newTree(t, confine.Options{}, "allow/d/a/f="+strings.Repeat("x", 100_000))
	full := errors.New("no room")
	r, pipe := io.Pipe()
	go func() {
		_, _ = io.CopyN(io.Discard, r, 5000)
		r.CloseWithError(full)
	}()
	if _, err := history.Pack(t.Context(), pipe, w.dir("d")); !errors.Is(err, full) {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := history.Pack(cancelled, io.Discard, w.dir("d"))
	refusedAs(t, "a call that was cancelled", err, fault.TimedOut)
}

func TestADirectoryIsReadAsItIsPacked(t *testing.T) {
	w := newTree(t, confine.Options{}, "allow/d/a/f="+strings.Repeat("x", 100_000), "allow/d/l => a")
	want, count := w.pack("d")
	a := history.Reader(t.Context(), w.dir("d"))
	defer a.Close()
	got, err := io.ReadAll(iotest.OneByteReader(a))
	if err != nil || !bytes.Equal(got, want) || a.Count() != count {
		t.Errorf("%d bytes instead of %d, %+v, %v", len(got), len(want), a.Count(), err)
	}
	w = newTree(t, confine.Options{}, "allow/d/a\nb=x")
	bad := history.Reader(t.Context(), w.dir("d"))
	defer bad.Close()
	_, err = io.ReadAll(bad)
	if refusedAs(t, "an entry that is refused", err, fault.ParamInvalid); bad.Count() != (history.Count{}) {
		t.Errorf("%+v", bad.Count())
	}
}

func TestAReaderThatStopsEarlyLeavesNothingRunning(t *testing.T) {
	w := newTree(t, confine.Options{}, "allow/d/a/f="+strings.Repeat("x", 1_000_000))
	before := runtime.NumGoroutine()
	for _, most := range []int64{0, 1, 700, 100_000} {
		a := history.Reader(t.Context(), w.dir("d"))
		if n, err := io.CopyN(io.Discard, a, most); n != most || err != nil {
			t.Fatal(n, err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if a.Count() != (history.Count{}) {
			t.Errorf("half a directory counts %+v", a.Count())
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines are left over", runtime.NumGoroutine()-before)
}
