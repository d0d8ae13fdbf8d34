package audit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

var platformChildren = map[string]func(args []string) error{
	"fill":     fillChild,
	"confined": confinedChild,
	"readonly": readonlyChild,
}

// noLandlock is the exit code of a child that could not confine itself.
const noLandlock = 77

func TestAFileThatCannotGrowIsAnErrorAndLosesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	cmd := mcptest.Child(t, "fill", file)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var stored int
	if _, err := fmt.Sscan(string(out), &stored); err != nil || stored < 5 {
		t.Fatalf("%s: %v", out, err)
	}
	whole(t, file, stored)
}

// fillChild records until the limit on file sizes cuts a line short, which must
// be an error, and again with more room, which must work.
func fillChild(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	l, err := audit.Open(args[0], audit.Options{})
	if err != nil {
		return err
	}
	event := audit.Event{Cause: strings.Repeat("x", 3000)}
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 30_000, Max: room.Max}); err != nil {
		return err
	}
	stored := 0
	for err == nil && stored < 100 {
		if err = l.Record(event); err == nil {
			stored++
		}
	}
	if !errors.Is(err, fault.LimitReached) || l.Record(event) == nil {
		return fmt.Errorf("%d events in 30,000 bytes; error: %w", stored, err)
	}
	info, err := os.Stat(args[0])
	if err != nil || info.Size() >= 30_000 {
		return fmt.Errorf("half a line is left: %d bytes, %w", info.Size(), err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		return err
	}
	if err := l.Record(event); err != nil {
		return err
	}
	fmt.Println(stored + 1)
	return l.Close()
}

func TestAProcessThatHoldsTheLockForEverDoesNotHangTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "x.jsonl")
		l := open(t, file, audit.Options{})
		stuck, err := os.Open(file + ".head")
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(stuck.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		if err := l.Record(audit.Event{}); !errors.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		if _, err := audit.Verify(file); !errors.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		if err := stuck.Close(); err != nil {
			t.Fatal(err)
		}
		record(t, l, audit.Event{})
		whole(t, file, 1)
	})
}

func TestAReaderWithoutTheRightToWriteMayVerify(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.jsonl")
	record(t, open(t, file, audit.Options{}), audit.Event{})
	cmd := mcptest.Child(t, "readonly", file)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == noLandlock {
		t.Skip("this kernel has no Landlock")
	}
	if err != nil || string(out) != "1 true\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// readonlyChild verifies a log that it may only read.
func readonlyChild(args []string) error {
	if err := landlock.V3.RestrictPaths(landlock.RODirs(filepath.Dir(args[0]))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(noLandlock)
	}
	if _, err := audit.Open(args[0], audit.Options{}); !errors.Is(err, fault.PermissionDenied) {
		return fmt.Errorf("opening for writing: %w", err)
	}
	r, err := audit.Verify(args[0])
	fmt.Println(r.Events, r.OK())
	return err
}

func TestAProcessConfinedToTheDirectoryOfTheLogGoesOnRecording(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "audit", "x.jsonl")
	err := mcptest.Child(t, "confined", file, filepath.Join(dir, "outside")).Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == noLandlock {
		t.Skip("this kernel has no Landlock")
	}
	if err != nil {
		t.Fatal(err)
	}
	r := verify(t, file)
	if r.Events < 10 || r.Files != 3 || len(r.Broken) != 1 || r.Broken[0].File != sealed {
		t.Errorf("%+v", r)
	}
}

// confinedChild opens a log, confines itself to its directory, and makes the log
// rotate, prune, and open its files again.
func confinedChild(args []string) error {
	l, err := audit.Open(args[0], audit.Options{MaxBytes: 2000, Keep: 2})
	if err != nil {
		return err
	}
	if err := landlock.V3.RestrictPaths(landlock.RWDirs(filepath.Dir(args[0]))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(noLandlock)
	}
	if os.WriteFile(args[1], nil, 0o600) == nil {
		return errors.New("the process is not confined")
	}
	for i := range 60 {
		if i == 30 {
			if err := os.Remove(args[0] + ".head"); err != nil {
				return err
			}
		}
		if err := l.Record(audit.Event{}); err != nil {
			return err
		}
	}
	return l.Close()
}
