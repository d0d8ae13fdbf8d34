package audit_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/audit"
)

// TestMain is what this test binary does when one of its own tests starts it: a
// separate process is what a lock, a kill and a resource limit are about.
func TestMain(m *testing.M) {
	name, ok := os.LookupEnv("AUDIT_TEST_CHILD")
	if !ok {
		os.Exit(m.Run())
	}
	run := recordChild
	if name != "record" {
		run = platformChildren[name]
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_CHILD="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// recordChild FILE NAME COUNT MAXBYTES records events called NAME/0, NAME/1 …
// and tells each one on stdout after it is stored.
func recordChild(args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	maxBytes, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return err
	}
	log, err := audit.Open(args[0], audit.Options{MaxBytes: maxBytes})
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 1)
	for i := range count {
		id := fmt.Sprintf("%s/%d", args[1], i)
		if err := log.Record(audit.Event{RequestID: id, Tool: "t", Cause: strings.Repeat("x ", i%3000)}); err != nil {
			return err
		}
		fmt.Fprintln(out, id)
	}
	return log.Close()
}
