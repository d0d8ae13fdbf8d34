package mcptest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// AsOrdinaryUser runs the tests of this binary that match again, without the rights of
// root, where those who run them have them. At least one has to pass.
func AsOrdinaryUser(t *testing.T, tests string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	home, binary := home(t)
	parallel := flag.Lookup("test.parallel").Value.String()
	cmd := exec.Command(binary, "-test.v", "-test.timeout=30m", "-test.parallel="+parallel, "-test.run="+tests)
	cmd.Dir, cmd.Env = home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "GORACE=" + os.Getenv("GORACE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "SKIP") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

const nobody = 65534

// home is a directory of nobody's with the test binary in it: not in /tmp, of which commands may have another one.
func home(t *testing.T) (dir, binary string) {
	t.Helper()
	dir, err := os.MkdirTemp("/home", "mcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "test")
	if err := os.WriteFile(binary, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return dir, binary
}
