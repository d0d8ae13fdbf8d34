package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// levelTwo is the variable that runs this test binary at level 2.
const levelTwo = "SANDBOX_TEST_LEVEL"

func TestMain(m *testing.M) {
	Helper()
	if os.Getenv(deedOf) != "" {
		if err := deeds(os.Args[1], os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func level() int {
	if os.Getenv(levelTwo) == "2" {
		return 2
	}
	return 1
}

// fixture is a home directory with secrets, a workspace and a directory outside.
type fixture struct{ Home, Work, Temp, Outside string }

func worldAt(root string) fixture {
	return fixture{root + "/home", root + "/home/work", root + "/temp", root + "/outside"}
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	root, err := os.MkdirTemp("", "w") // short: the names of sockets are in it
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	root, err = filepath.EvalSymlinks(root)
	if level() == 2 { // a home directory in /tmp would be a command's own
		var cache string
		cache, err = os.UserCacheDir()
		must(t, err)
		must(t, os.MkdirAll(cache, 0o700))
		root, err = os.MkdirTemp(cache, "mcp-sandbox-test-")
		t.Cleanup(func() { os.RemoveAll(root) })
	}
	must(t, err)
	w := worldAt(root)
	for _, dir := range []string{w.Work, w.Temp, w.Outside, w.Home + "/.ssh", w.Home + "/.aws", w.Home + "/go/pkg/mod"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for name, content := range map[string]string{
		w.Home + "/.ssh/id_ed25519":        "secret key",
		w.Home + "/.aws/credentials":       "secret key",
		w.Home + "/.npmrc":                 "secret token",
		w.Home + "/.gitconfig":             "[user]\n\tname = Nobody\n\temail = nobody@example.org\n[safe]\n\tdirectory = *\n",
		w.Home + "/go/pkg/mod/module.file": "module",
		w.Outside + "/file":                "strange content",
		w.Work + "/file":                   "inside",
	} {
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	return w
}

func (w fixture) rules() Rules {
	return Rules{Write: []*confine.Grant{mcptest.Grant(w.Work)}, Temp: mcptest.Grant(w.Temp)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lacking is the first promise that this machine does not keep; it takes a while to find out.
var lacking = sync.OnceValue(func() string {
	s, err := New(Options{Mode: Auto, Level: level()})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	for _, part := range s.Report() {
		if !part.Holds && (level() == 2 || part.Name != "namespaces" && part.Name != "sockets") {
			return part.Name + ": " + part.Why
		}
	}
	return ""
})

// newBox is a sandbox that must keep all of its promises.
func newBox(t testing.TB, home string) *Sandbox {
	t.Helper()
	s, err := New(Options{Mode: Auto, Level: level(), Home: home})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	if lacks := lacking(); lacks != "" {
		t.Skip("SKIPPED: no sandbox on this machine: " + lacks)
	}
	return s
}

// reportOf is the report of one sandbox of that kind, the first that was asked: to try its promises takes seconds.
func reportOf(kind string, s *Sandbox) Report {
	reports.Lock()
	defer reports.Unlock()
	if _, ok := reports.of[kind]; !ok {
		reports.of[kind] = s.Report()
	}
	return reports.of[kind]
}

var reports = struct {
	sync.Mutex
	of map[string]Report
}{of: map[string]Report{}}

// shell is a command line for /bin/sh.
func (w fixture) shell(script string, args ...string) Command {
	return Command{
		Path: "/bin/sh", Args: append([]string{"sh", "-c", script, "sh"}, args...), Dir: w.Work, Rules: w.rules(),
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Home}, ToolEnv(w.Temp, w.Temp)...),
	}
}

// result is what a command did.
type result struct {
	Status
	out string
}

func (r result) ok() bool { return r.Code == 0 && r.Signal == "" }

// run starts a command, waits for its first process and returns its output.
func run(t testing.TB, s *Sandbox, c Command) result {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	must(t, err)
	defer out.Close()
	tree, err := s.Start(context.Background(), c, Files{Stdout: out, Stderr: out})
	must(t, err)
	defer func() { must(t, tree.Close()) }()
	status := tree.Wait()
	text, err := os.ReadFile(out.Name())
	must(t, err)
	return result{status, string(text)}
}

func TestEveryPromiseIsTriedAndHolds(t *testing.T) {
	s, err := New(Options{Mode: Auto, Level: level()})
	must(t, err)
	defer s.Close()
	for _, part := range s.Report() {
		t.Logf("%-10s %-5v %s", part.Name, part.Holds, part.Why)
	}
	if !s.Report().Holds() {
		t.Skip("SKIPPED: this machine does not keep all promises")
	}
}

func TestAProgramRunsAndSaysHowItEnded(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	for _, c := range []struct {
		script string
		code   int
		signal string
	}{
		{"exit 0", 0, ""},
		{"exit 7", 7, ""},
		{"kill -TERM $$", -1, "SIGTERM"},
		{"kill -9 $$", -1, "SIGKILL"},
	} {
		got := run(t, s, w.shell(c.script))
		if got.Code != c.code || got.Signal != c.signal {
			t.Errorf("%s: %+v", c.script, got)
		}
	}
	if got := run(t, s, w.shell(`echo "$PWD" > file; cat file; echo oops >&2`)); got.out != w.Work+"\noops\n" {
		t.Errorf("%+v", got)
	}
}

// eventually waits for what must come, and fails when it does not.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	if !within(2*time.Minute, is) {
		t.Fatal(what + " never came")
	}
}

// within waits for what must come, but not for ever.
func within(limit time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// TestACommandStartsThoughMoreFilesAreOpenThanItMayHave opens more files here than the command may.
func TestACommandStartsThoughMoreFilesAreOpenThanItMayHave(t *testing.T) {
	w := newFixture(t)
	s := newBox(t, w.Home)
	s.canary.files = unix.Rlimit{Cur: 64, Max: 64}
	for range 100 {
		f, err := os.Open(os.DevNull)
		must(t, err)
		defer f.Close()
	}
	if got := run(t, s, w.shell("ulimit -n")); got.out != "64\n" {
		t.Errorf("%+v", got)
	}
}
