package mcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// childVariable names what a test binary is to do when one of its own tests starts it.
const childVariable = "MCPTEST_CHILD"

// Children is the TestMain of a package whose tests start their own binary again: a
// process of its own is what a lock, a kill and a limit are about. A child runs the
// function of its name with its arguments, and ends with 1 where that fails.
func Children(m interface{ Run() int }, children map[string]func(args []string) error) {
	name, ok := os.LookupEnv(childVariable)
	if !ok {
		os.Exit(m.Run())
	}
	err := fmt.Errorf("there is no child %q", name)
	if run := children[name]; run != nil {
		err = run(os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Child is the test binary as the child of that name; see [Children].
func Child(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// Released builds the program in dir as it is released, at most once: the test binary
// itself is built with the race detector and has its memory and its pace. What it gives
// is the path of the binary.
func Released(name, dir string) func(t testing.TB) string {
	build := sync.OnceValues(func() (string, error) { return release(name, dir) })
	return func(t testing.TB) string {
		t.Helper()
		binary, err := build()
		if err != nil {
			t.Fatal(err)
		}
		return binary
	}
}

func release(name, source string) (string, error) {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, name)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}
