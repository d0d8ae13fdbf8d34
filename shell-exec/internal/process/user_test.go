//go:build linux

package process_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestAsAnOrdinaryUser runs some tests again without root's rights, where those who
// run them have them.
func TestAsAnOrdinaryUser(t *testing.T) {
	const nobody, some = 65534, "CanBeWatched|EndsAJobWithAllOfIt|CommandLeftBehind"
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	home, err := os.MkdirTemp("", "mcp-user-")
	must(t, err)
	defer os.RemoveAll(home)
	self, err := os.Executable()
	must(t, err)
	binary, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(home+"/test", binary, 0o755))
	must(t, os.Chown(home, nobody, nobody))
	cmd := exec.Command(home+"/test", "-test.v", "-test.timeout=300s", "-test.run="+some)
	cmd.Dir, cmd.Env = home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
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
