package effect

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

func TestWhereThingsAre(t *testing.T) {
	c := &classifier{Home: "/home/dev", Workspace: []string{"/home/dev/project"}, Temporary: []string{"/scratch"}}
	for text, want := range map[string]pathClass{
		"src/main.go": classWorkspace, ".": classRoot, "": classUnknown, "/home/dev/project/*": classRoot, "*.o": classWorkspace, ".g*": classHistory,
		".git": classHistory, "sub/.GIT": classHistory, ".git/objects/ab": classRepository, ".git/index.lock": classWorkspace,
		".git/hooks/pre-commit": classTrigger, ".git/config": classTrigger, ".vscode/tasks.json": classTrigger, ".mcp.json": classTrigger,
		"..": classVital, "../..": classVital, "/": classVital, "/*": classVital, "/b*": classVital, "/home": classVital, "/home/dev": classVital, "/home/dev/*": classVital, "/etc": classVital, "/usr/lib": classVital,
		"/home/other": classVital, "../other": classOutside, "/srv/x": classOutside, "/home/dev/notes": classOutside,
		"/etc/hosts": classSystem, "/usr/share/x": classSystem, "/etc/passwd": classAccounts, "/usr/bin/ls": classAccounts, "/etc/sudoers.d/x": classAccounts, "/boot/vmlinuz": classAccounts,
		"/tmp": classShared, "/tmp/*": classShared, "/tmp/x": classTemporary, "/scratch/x": classTemporary,
		"/dev/null": classHarmless, "/dev/sda": classDisk, "/dev/nvme0n1p1": classDisk, "/dev/kvm": classDevice,
		"/home/dev/.ssh/id_rsa": classSecret, "/home/dev/.ssh/id_rsa.pub": classOutside, "/home/dev/.aws/credentials": classSecret, "/etc/shadow": classSecret, "/proc/1/environ": classSecret,
		"/home/dev/.bashrc": classStartup, "/home/dev/.ssh/authorized_keys": classStartup,
		"‹/x": classUnknown, "‹": classUnknown, "/‹": classUnknown, "src/‹": classWorkspace, "/tmp/‹": classTemporary, "/usr/‹": classSystem,
	} {
		text = strings.ReplaceAll(text, "‹", string(cmdline.Hole))
		text = strings.ReplaceAll(text, "*", string(cmdline.Star))
		if got := c.class("/home/dev/project", text, false); got != want {
			t.Errorf("%s is in %d, want %d", cmdline.Show(text), got, want)
		}
	}
}

func TestAHomeDirectoryAmongTemporaryOnesIsStillOne(t *testing.T) {
	c := &classifier{Home: "/tmp/home", Workspace: []string{"/tmp/home/work/project"}}
	for text, want := range map[string]pathClass{
		"/tmp/home": classVital, "/tmp/home/work": classVital, "..": classVital, "/tmp/home/*": classVital, "/tmp/home/work/project": classRoot,
		"/tmp": classShared, "/tmp/*": classShared, "/tmp/other": classTemporary, "/tmp/home/notes": classOutside,
		"/tmp/home/.ssh/id_rsa": classSecret, "/tmp/home/.bashrc": classStartup,
	} {
		text = strings.ReplaceAll(text, "*", string(cmdline.Star))
		if got := c.class("/tmp/home/work/project", text, false); got != want {
			t.Errorf("%s is in %d, want %d", cmdline.Show(text), got, want)
		}
	}
}
