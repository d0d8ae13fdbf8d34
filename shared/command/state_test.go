package command_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
)

func TestTheAuditLogLiesWhereASystemKeepsState(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are those of POSIX")
	}
	home := []string{"HOME=/home/ada", "LOCALAPPDATA=/local"}
	for _, c := range []struct {
		what, goos string
		environ    []string
		want       string
	}{
		{"as XDG says", "linux", append(home, "XDG_STATE_HOME=/state"), "/state"},
		{"as XDG says on macOS too", "darwin", append(home, "XDG_STATE_HOME=/state"), "/state"},
		{"a relative one is ignored", "linux", append(home, "XDG_STATE_HOME=state"), "/home/ada/.local/state"},
		{"an empty one is ignored", "linux", append(home, "XDG_STATE_HOME="), "/home/ada/.local/state"},
		{"Linux", "linux", home, "/home/ada/.local/state"},
		{"macOS", "darwin", home, "/home/ada/Library/Application Support"},
		{"Windows", "windows", home, "/local"},
	} {
		got, err := command.DefaultAuditFile("fake", c.goos, c.environ)
		if want := filepath.Join(c.want, "mcp-server", "audit", "fake.jsonl"); err != nil || got != want {
			t.Errorf("%s: %q and %v, want %q", c.what, got, err, want)
		}
	}
	if got, err := command.DefaultAuditFile("fake", "linux", nil); err == nil {
		t.Errorf("without a home it lies in %q", got)
	}
}
