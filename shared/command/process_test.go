//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// asServer makes this binary the fake server itself.
const asServer = "COMMAND_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(command.Run(context.Background(), fake(), os.Args[1:], command.Process()))
	}
	os.Exit(m.Run())
}

// server is the fake server as a process that is killed if it hangs.
func server(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Dir = t.TempDir()
	c.Env = []string{asServer + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	return c
}

const waitForever = hello + `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"keep","arguments":{"file":"forever"}}}` + "\n"

// awaitLine reads until a line with word comes.
func awaitLine(t *testing.T, r io.Reader, word string) {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), word) {
			go io.Copy(io.Discard, r) //nolint:errcheck // only so that the other end never blocks
			return
		}
	}
	t.Fatalf("no line with %q came", word)
}

func TestASignalEndsTheServerCleanlyThoughACallRunsAndStdinIsOpen(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			c := server(t, "--restrict", "off")
			stdin, err := c.StdinPipe()
			must(t, err)
			stderr, err := c.StderrPipe()
			must(t, err)
			must(t, c.Start())
			_, err = io.WriteString(stdin, waitForever)
			must(t, err)
			awaitLine(t, stderr, "waiting")
			must(t, c.Process.Signal(sig))
			if err := c.Wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestAHostThatIsGoneIsAnErrorAndNoDeathBySignal(t *testing.T) {
	c := server(t, "--restrict", "off")
	out, in, err := os.Pipe()
	must(t, err)
	must(t, out.Close())
	c.Stdin, c.Stdout = strings.NewReader(hello), in
	var stderr bytes.Buffer
	c.Stderr = &stderr
	err = c.Run()
	must(t, in.Close())
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit code 1", err)
	}
	contains(t, "stderr", stderr.String(), "SYSTEM_002")
}

func TestAHostThatDoesNotReadStderrIsServed(t *testing.T) {
	c := server(t, "--restrict", "off", "--log-level", "info")
	out, in, err := os.Pipe()
	must(t, err)
	must(t, out.Close())
	c.Stdin, c.Stderr = strings.NewReader(hello), in
	answers, err := c.Output()
	must(t, in.Close())
	if err != nil {
		t.Errorf("ended with %v", err)
	}
	contains(t, "stdout", string(answers), "hello Ada")
}

// escape lets the fake server write where it was never allowed to.
func escape(t *testing.T, mode string) (file string, err error) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "outside")
	c := server(t, "call", "keep", "file="+file, "--restrict", mode)
	return file, c.Run()
}

func TestARestrictedServerCannotWriteWhereItWasNotAllowed(t *testing.T) {
	if !restrict.Probe().Holds() {
		t.Skip("this machine cannot restrict a process")
	}
	file, err := escape(t, "off")
	must(t, err)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the attack does not work without restriction: %v", err)
	}
	file, err = escape(t, "required")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the call ended with %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the restricted server wrote outside")
	}
}

func TestARestrictedServerKeepsItsAuditLog(t *testing.T) {
	if !restrict.Probe().Holds() {
		t.Skip("this machine cannot restrict a process")
	}
	c := server(t, "--restrict", "required")
	c.Stdin = strings.NewReader(hello)
	out, err := c.Output()
	must(t, err)
	contains(t, "stdout", string(out), "hello Ada")
	verify := exec.Command(os.Args[0], "audit", "verify")
	verify.Dir, verify.Env = c.Dir, c.Env
	out, err = verify.Output()
	must(t, err)
	contains(t, "verify", string(out), "1 event")
}
