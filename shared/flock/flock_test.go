package flock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// TestMain is what this test binary does when one of its own tests starts it: only a
// process can end while it holds a lock.
func TestMain(m *testing.M) {
	file, ok := os.LookupEnv("FLOCK_TEST_FILE")
	if !ok {
		os.Exit(m.Run())
	}
	if err := lockForEver(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lockForEver locks a file, says so, and keeps it until stdin ends.
func lockForEver(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := flock.Wait(context.Background(), f, "the file"); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func newFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t *testing.T, file string) *os.File {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// try fails unless the lock is got, or refused, as wanted.
func try(t *testing.T, f *os.File, shared, want bool) {
	t.Helper()
	if got, err := flock.Try(f, shared); got != want || err != nil {
		t.Fatalf("got the lock: %t, %v; want %t", got, err, want)
	}
}

func unlock(t *testing.T, f *os.File) {
	t.Helper()
	if err := flock.Unlock(f); err != nil {
		t.Fatal(err)
	}
}

func TestALockBelongsToOneOpenFile(t *testing.T) {
	file := newFile(t)
	one, other := open(t, file), open(t, file)
	try(t, one, false, true)
	try(t, other, false, false)
	try(t, other, true, false)
	unlock(t, one)
	try(t, other, false, true)
	try(t, one, false, false)
}

func TestASharedLockKeepsOutOnlyThoseWhoDoNotShare(t *testing.T) {
	file := newFile(t)
	one, other, writer := open(t, file), open(t, file), open(t, file)
	try(t, one, true, true)
	try(t, other, true, true)
	try(t, writer, false, false)
	unlock(t, one)
	try(t, writer, false, false)
	unlock(t, other)
	try(t, writer, false, true)
}

func TestClosingTheFileGivesTheLockBack(t *testing.T) {
	file := newFile(t)
	one, other := open(t, file), open(t, file)
	try(t, one, false, true)
	try(t, other, false, false)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	try(t, other, false, true)
}

func TestALockEndsWithTheProcessThatIsKilled(t *testing.T) {
	file := newFile(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "FLOCK_TEST_FILE="+file)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	f := open(t, file)
	held, tried := flock.Try(f, false)
	killed := cmd.Process.Kill()
	if cmd.Wait() == nil || line != "locked\n" || err != nil || killed != nil {
		t.Fatalf("the process was not killed with the lock: %q, %v, %v", line, err, killed)
	}
	if held || tried != nil {
		t.Errorf("got the lock of a living process: %t, %v", held, tried)
	}
	if err := flock.Wait(t.Context(), f, "the file"); err != nil {
		t.Error(err)
	}
}

func TestAWaitGetsTheLockThatIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := newFile(t)
		one, other := open(t, file), open(t, file)
		try(t, one, false, true)
		given := make(chan error, 1)
		time.AfterFunc(time.Second, func() { given <- flock.Unlock(one) })
		if err := flock.Wait(t.Context(), other, "the file"); err != nil {
			t.Fatal(err)
		}
		if err := <-given; err != nil {
			t.Fatal(err)
		}
		try(t, one, false, false)
	})
}

func TestACancelledWaitEndsWithoutTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := newFile(t)
		one, other := open(t, file), open(t, file)
		try(t, one, false, true)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := flock.Wait(ctx, other, "the file"); !errors.Is(err, fault.TimedOut) || !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that is cancelled: %v", err)
		}
		unlock(t, one)
		if err := flock.Wait(ctx, other, "the file"); !errors.Is(err, fault.TimedOut) || !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was cancelled before it began: %v", err)
		}
		try(t, one, false, true)
	})
}

func TestALockThatIsHeldForEverIsRefusedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := newFile(t)
		one, other := open(t, file), open(t, file)
		try(t, one, false, true)
		err := flock.Wait(t.Context(), other, "the history of changes")
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.Unavailable {
			t.Fatalf("got %v", err)
		}
		const want = "another process holds the history of changes locked. Look for a server that is stopped or hangs."
		if got := f.Sentence(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
