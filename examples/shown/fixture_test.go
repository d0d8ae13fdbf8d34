package shown

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
)

// server is one of the three, and how it is built.
type server struct {
	name   string
	binary func(testing.TB) string
}

var servers = []server{
	{"file-read", mcptest.Released("file-read", "../../file-read")},
	{"file-write", mcptest.Released("file-write", "../../file-write")},
	{"shell-exec", mcptest.Released("shell-exec", "../../shell-exec")},
}

// you is the home directory that everything shown speaks of.
const you = "/home/you"

// fixture is a machine of somebody who uses the servers: a home directory with the
// programs in bin/ and a project.
type fixture struct {
	t    *testing.T
	home string
}

// newFixture is for tests of what is shown for Linux, with a kernel that holds the servers
// as the deployments require it.
func newFixture(t *testing.T, spec ...string) fixture {
	t.Helper()
	if !restrict.Probe().Holds() {
		t.Skip("this system cannot hold the servers as the pages and deployments say")
	}
	w := fixture{t, mcptest.Tree(t, append([]string{"bin/", "project/main.go=package main\n"}, spec...)...)}
	for _, s := range servers {
		w.install(s)
	}
	return w
}

// install puts the program into bin/. A link in the file system is no copy, and has no
// other name that the program could take for its own.
func (w fixture) install(s server) {
	w.t.Helper()
	from, to := s.binary(w.t), w.at(you+"/bin/"+s.name)
	if os.Link(from, to) == nil {
		return
	}
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o700)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// at is where in this fixture a path lies that is shown.
func (w fixture) at(shown string) string { return strings.ReplaceAll(shown, you, w.home) }

// shown is text as it is shown, with the home directory that it speaks of.
func (w fixture) shown(text string) string { return strings.ReplaceAll(text, w.home, you) }

// environ is that of somebody who has just logged in.
func (w fixture) environ() []string {
	return []string{
		"HOME=" + w.home, "USER=you", "LANG=C.UTF-8", "TZ=UTC", "SHELL=/bin/sh", "TERM=dumb",
		"PATH=" + w.at(you+"/bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

// run runs a command line that is shown to its end, and is what it wrote to stdout.
func (w fixture) run(program string, args ...string) (string, error) {
	cmd := exec.Command(w.at(program))
	for _, word := range args {
		cmd.Args = append(cmd.Args, w.at(word))
	}
	cmd.Env, cmd.Dir = w.environ(), w.home
	out, err := cmd.Output()
	return string(out), err
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
