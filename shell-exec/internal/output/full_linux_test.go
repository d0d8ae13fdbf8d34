package output_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

func init() { children["short"] = shortChild }

// A tmpfs of one MiB is filled by the outputs themselves.
func TestAFullDiskIsToldAndWhatIsStoredStays(t *testing.T) {
	w := newFixture(t)
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", w.dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("SKIPPED: a full disk cannot be tried here: mounting a tmpfs: %v", err)
	}
	defer unix.Unmount(w.dir, unix.MNT_DETACH)
	s := w.open(output.Limits{})
	r := w.begin(s, "big")
	for range 30 {
		w.write(r, output.Stdout, strings.Repeat("x", 49_999)+"\n")
		w.write(r, output.Stderr, "e")
	}
	refused(t, r.Err(), fault.DiskFull)
	stored, dropped := w.info(s, r.OutputID(output.Stdout)).Bytes, r.Dropped(output.Stdout)
	if stored+dropped != 1_500_000 || stored < 900_000 {
		t.Errorf("%d bytes are stored and %d dropped", stored, dropped)
	}
	w.end(r)
	fill(t, w.dir)
	_, err := s.Begin(context.Background(), output.About{Name: "none"})
	refused(t, err, fault.DiskFull)
	late := s.Later(output.About{Name: "none"})
	w.write(late, output.Stdout, "text")
	refused(t, late.End(), fault.DiskFull)
	if late.Dropped(output.Stdout) != 4 {
		t.Errorf("%d bytes were dropped of a run that could not be stored", late.Dropped(output.Stdout))
	}
	if got := w.info(s, r.OutputID(output.Stdout)); got.State != output.Ended || got.Dropped != dropped {
		t.Errorf("%+v", got)
	}
	if n := len(w.read(s, r.ID())); int64(n) != w.info(s, r.ID()).Bytes {
		t.Errorf("%d bytes can be read", n)
	}
	if _, err := s.Delete(context.Background(), []string{r.ID()}, true); err != nil {
		t.Fatal(err)
	}
	if next := w.ran(s, "next", "text"); w.read(s, next.ID()) != "text" {
		t.Error("there is no room again")
	}
}

// fill takes what room is left on a file system.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(dir + "/ballast")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

func TestAWriteThatIsCutShortIsCountedExactly(t *testing.T) {
	w := newFixture(t)
	out, err := mcptest.Child(t, "short", w.dir).Output()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	s := w.open(output.Limits{})
	id := strings.TrimSpace(string(out))
	if got := w.info(s, id+".stdout"); got.Bytes != 8000 || got.Dropped != 2001 {
		t.Errorf("%d bytes and %d dropped", got.Bytes, got.Dropped)
	}
	if got := w.read(s, id); got != strings.Repeat("x", 8000)+"err" {
		t.Errorf("%d bytes", len(got))
	}
}

// shortChild DIR writes more than the limit on file sizes lets it.
func shortChild(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, r, err := childRun(args[0], "short", output.Limits{})
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 8000, Max: 8000}); err != nil {
		return err
	}
	for _, part := range []string{strings.Repeat("x", 10_000), "y"} {
		if n, err := r.Writer(output.Stdout).Write([]byte(part)); n != len(part) || err != nil {
			return fmt.Errorf("%d %w", n, err)
		}
	}
	r.Writer(output.Stderr).Write([]byte("err"))
	if !errors.Is(r.Err(), fault.LimitReached) {
		return fmt.Errorf("the reason is %w", r.Err())
	}
	fmt.Println(r.ID())
	return errors.Join(r.End(), s.Close())
}
