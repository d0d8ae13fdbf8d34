package pathclass

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

func TestWhereThingsAre(t *testing.T) {
	m := &Map{Home: "/home/dev", Workspace: []string{"/home/dev/project"}, Temporary: []string{"/scratch"}}
	for text, want := range map[string]Class{
		"src/main.go": Workspace, ".": Root, "": Unknown, "/home/dev/project/*": Root, "*.o": Workspace, ".g*": History,
		".git": History, "sub/.GIT": History, ".git/objects/ab": Repository, ".git/index.lock": Workspace,
		".git/hooks/pre-commit": Trigger, ".git/config": Trigger, ".vscode/tasks.json": Trigger, ".mcp.json": Trigger,
		"..": Vital, "../..": Vital, "/": Vital, "/*": Vital, "/b*": Vital, "/home": Vital, "/home/dev": Vital, "/home/dev/*": Vital, "/etc": Vital, "/usr/lib": Vital,
		"/home/other": Vital, "../other": Outside, "/srv/x": Outside, "/home/dev/notes": Outside,
		"/etc/hosts": System, "/usr/share/x": System, "/etc/passwd": Accounts, "/usr/bin/ls": Accounts, "/etc/sudoers.d/x": Accounts, "/boot/vmlinuz": Accounts,
		"/tmp": Shared, "/tmp/*": Shared, "/tmp/x": Temporary, "/scratch/x": Temporary,
		"/dev/null": Harmless, "/dev/sda": Disk, "/dev/nvme0n1p1": Disk, "/dev/kvm": Device,
		"/home/dev/.ssh/id_rsa": Secret, "/home/dev/.ssh/id_rsa.pub": Outside, "/home/dev/.aws/credentials": Secret, "/etc/shadow": Secret, "/proc/1/environ": Secret,
		"/home/dev/.bashrc": Startup, "/home/dev/.ssh/authorized_keys": Startup,
		"‹/x": Unknown, "‹": Unknown, "/‹": Unknown, "src/‹": Workspace, "/tmp/‹": Temporary, "/usr/‹": System,
	} {
		text = strings.ReplaceAll(text, "‹", string(cmdline.Hole))
		text = strings.ReplaceAll(text, "*", string(cmdline.Star))
		if got := m.Of("/home/dev/project", text, false); got != want {
			t.Errorf("%s is in %d, want %d", cmdline.Show(text), got, want)
		}
	}
}

func TestAHomeDirectoryAmongTemporaryOnesIsStillOne(t *testing.T) {
	m := &Map{Home: "/tmp/home", Workspace: []string{"/tmp/home/work/project"}}
	for text, want := range map[string]Class{
		"/tmp/home": Vital, "/tmp/home/work": Vital, "..": Vital, "/tmp/home/*": Vital, "/tmp/home/work/project": Root,
		"/tmp": Shared, "/tmp/*": Shared, "/tmp/other": Temporary, "/tmp/home/notes": Outside,
		"/tmp/home/.ssh/id_rsa": Secret, "/tmp/home/.bashrc": Startup,
	} {
		text = strings.ReplaceAll(text, "*", string(cmdline.Star))
		if got := m.Of("/tmp/home/work/project", text, false); got != want {
			t.Errorf("%s is in %d, want %d", cmdline.Show(text), got, want)
		}
	}
}
