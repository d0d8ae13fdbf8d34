package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built is the directory of the servers' programs, each built as a release is but for
// the platform.
var built string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "release-test-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	for name := range servers {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name+exe), "-ldflags", "-X main.version=v1.2.3", ".")
		build.Dir = filepath.Join("..", name)
		if out, err := build.CombinedOutput(); err != nil {
			return complain(fmt.Errorf("build %s: %w\n%s", name, err, out))
		}
	}
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// each runs a test for every server.
func each(t *testing.T, test func(t *testing.T, s server, program string, self about)) {
	t.Helper()
	for name, s := range servers {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(built, name+exe)
			self, err := ask(t.Context(), program)
			must(t, err)
			test(t, s, program, self)
		})
	}
}

func TestWhatIsAskedForIsReadStrictly(t *testing.T) {
	for _, c := range []struct {
		line string
		want string // of the error; empty: none
	}{
		{"file-read v1.2.3", ""},
		{"file-read v1.2.3 --dry-run --twice", ""},
		{"--dry-run shell-exec v0.1.0-rc.1", ""},
		{"file-red v1.2.3", "no server file-red"},
		{"file-read 1.2.3", "no version"},
		{"file-read v1.2", "no version"},
		{"file-read v1.2.3+meta", "no version"},
		{"file-read v01.2.3", "no version"},
		{"file-read v2.0.0", "no version"},
		{"file-read", "help"},
		{"file-read v1.2.3 now", "help"},
		{"file-read v1.2.3 --push", "push"},
	} {
		_, err := parse(strings.Fields(c.line), io.Discard)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
	}
}
