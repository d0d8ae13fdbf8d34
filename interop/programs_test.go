package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain builds the servers under test and puts them first in PATH.
func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	bin, err := os.MkdirTemp("", "interop")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(bin)
	for _, program := range []string{"file-read", "file-write", "shell-exec"} {
		build := exec.Command("go", "build", "-o", bin, ".")
		build.Dir = "../" + program
		if out, err := build.CombinedOutput(); err != nil {
			return complain(fmt.Errorf("build %s: %w\n%s", program, err, out))
		}
	}
	os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	os.Setenv("XDG_STATE_HOME", filepath.Join(bin, "state"))
	os.Setenv("TZ", "UTC") // the reference server writes times in local time
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// server is the command line of one of our programs over one directory, without an
// audit log. What it keeps lies next to that directory.
func server(program, root string, flags ...string) []string {
	line := []string{program, "--allow-path", root, "--audit-log", "off"}
	switch program {
	case "file-write":
		line = append(line, "--audit-required=false", "--history", root+".history")
	case "shell-exec":
		line = append(line, "--audit-required=false")
	}
	return append(line, flags...)
}

// offer is a vocabulary of a program, the toolsets that are asked for if the usual ones
// are not all, and how many tools that makes.
type offer struct {
	program, vocabulary, toolsets string
	tools                         int
}

// offers are all there are, but for shell-server, which is standard without one tool.
var offers = []offer{
	{"file-read", "standard", "", 8},
	{"file-read", "local-file", "", 4},
	{"file-read", "agent", "", 4},
	{"file-read", "filesystem", "", 10},
	writeOffer,
	{"file-write", "local-file", "", 1},
	{"file-write", "agent", "", 2},
	{"file-write", "filesystem", "", 4},
	shellOffer,
	{"shell-exec", "agent", "", 1},
	{"shell-exec", "shell-server-2.0", "", 17},
}

var writeOffer = offer{"file-write", "standard", "write,edit,manage,delete,history", 9}

var shellOffer = offer{"shell-exec", "standard", "", 19}

func (o offer) String() string { return o.program + " " + o.vocabulary }

// over is the command line that offers it over a directory.
func (o offer) over(root string) []string {
	line := server(o.program, root, "--vocabulary", o.vocabulary)
	if o.toolsets != "" {
		line = append(line, "--toolsets", o.toolsets)
	}
	return line
}

// onNode is the command line of a program for node.
func onNode(t *testing.T, program string, args ...string) []string {
	t.Helper()
	bin, err := filepath.Abs("node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	line := append([]string{filepath.Join(bin, "node"), filepath.Join(bin, program)}, args...)
	for _, file := range line[:2] {
		if _, err := os.Stat(file); err == nil {
			continue
		}
		if os.Getenv("INTEROP") == "required" {
			t.Fatalf("%s is not installed (scripts/npm-install interop)", file)
		}
		t.Skipf("SKIPPED: %s is not installed (scripts/npm-install interop)", file)
	}
	return line
}

// output runs a command line and is its stdout and exit code.
func output(t *testing.T, line []string) (stdout []byte, code int) {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("%q ended with %v\n%s", line, cmd.ProcessState, stderr.Bytes())
	return stdout, cmd.ProcessState.ExitCode()
}
