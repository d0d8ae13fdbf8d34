package procfs_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

func TestALineIsReadWhateverTheNameHolds(t *testing.T) {
	const rest = ` S 10 20 30 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 9000 5000 256 18446744073709551615 0`
	for _, name := range []string{"sh", "a b", "a) R 1 1 1", "((", "", "\n"} {
		got, ok := procfs.Parse([]byte("42 (" + name + ")" + rest))
		want := procfs.Stat{
			PID: 42, Name: name, State: 'S', Parent: 10, Group: 20, Session: 30,
			Own: 2 * time.Second, Children: 100 * time.Millisecond, Threads: 1, Start: 9000, Resident: 256 * int64(os.Getpagesize()), Via: 42,
		}
		if !ok || got != want {
			t.Errorf("%q is %+v", name, got)
		}
	}
}

func TestANameInStatMayHoldAnything(t *testing.T) {
	line := "7 (a) R 1 (b) c) S 42 1 1 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0 555 1000 3 18446744073709551615 1"
	s, ok := procfs.Parse([]byte(line))
	want := procfs.Stat{
		PID: 7, Name: "a) R 1 (b) c", State: 'S', Parent: 42, Group: 1, Session: 1,
		Own: 300 * time.Millisecond, Children: 700 * time.Millisecond, Threads: 1, Start: 555, Resident: 3 * int64(os.Getpagesize()), Via: 7,
	}
	if !ok || s != want {
		t.Errorf("%+v", s)
	}
	for end := range len(line) - 26 { // up to the field before the last that is needed
		if _, ok := procfs.Parse([]byte(line[:end])); ok && end < strings.Index(line, " 3 184")+1 {
			t.Errorf("%q is taken for a whole line", line[:end])
		}
	}
}

func TestAPartOfALineIsNone(t *testing.T) {
	line := "42 (sh) S 10 20 30 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 9000 5000 256 1"
	for end := range strings.Index(line, " 256") {
		if s, ok := procfs.Parse([]byte(line[:end])); ok {
			t.Errorf("%q is %+v", line[:end], s)
		}
	}
}

func TestThisProcessIsFound(t *testing.T) {
	s, ok := procfs.Read(os.Getpid())
	if !ok || s.PID != os.Getpid() || s.Parent != os.Getppid() || s.Ended() || s.Resident == 0 {
		t.Errorf("%+v %t", s, ok)
	}
	all, err := procfs.PIDs()
	if err != nil || !slices.Contains(all, os.Getpid()) || !slices.Contains(all, 1) {
		t.Errorf("%v %v", all, err)
	}
	if _, ok := procfs.Read(1 << 30); ok {
		t.Error("a process that cannot be is there")
	}
}
