package shown

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// units are the files of deploy/systemd.
func units(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, s := range servers {
		all[s.name] = read(t, "../deploy/systemd", s.name+".service")
	}
	return all
}

// execStart is the command line of a unit. None has anything in it that would need quotes.
func execStart(t *testing.T, unit string) []string {
	t.Helper()
	_, rest, _ := strings.Cut(unit, "\nExecStart=")
	line, _, found := strings.Cut(rest, "\n")
	if !found || strings.ContainsAny(line, `"'\$`) {
		t.Fatalf("no command line that can be read without a shell: %q", line)
	}
	return strings.Fields(line)
}

// port is where a unit listens: what only this machine reaches.
var port = regexp.MustCompile(`^127\.0\.0\.1:\d+$`)

func TestUnitsStartTheServersTheyAreFor(t *testing.T) {
	for name, unit := range units(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "lib/"+name+"/")
			w.secret(t, "credentials/token", []byte(token+"\n"))
			words := execStart(t, unit)
			here := strings.NewReplacer("%d", w.home+"/credentials", "%S", w.home+"/lib", "/srv/project", w.home+"/project")
			for i, word := range words {
				words[i] = port.ReplaceAllString(here.Replace(word), "127.0.0.1:0")
			}
			if words[0] != "/usr/bin/"+name {
				t.Errorf("it starts %s", words[0])
			}
			w.answers(t, name, words[1:], "http://localhost")
		})
	}
}

// lines that every unit has: what a service may not do, by the names of systemd.exec(5).
var unitDemands = []string{
	"NoNewPrivileges=yes", "CapabilityBoundingSet=", "AmbientCapabilities=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
	"PrivateDevices=yes", "ProtectProc=invisible", "IPAddressDeny=any", "IPAddressAllow=localhost", "SocketBindDeny=any", "RestrictNamespaces=yes",
	"RestrictSUIDSGID=yes", "SystemCallArchitectures=native", "SystemCallFilter=@system-service landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp", "LockPersonality=yes",
	"ProtectKernelTunables=yes", "ProtectControlGroups=yes", "StateDirectoryMode=0700",
}

func TestUnitsGrantNoMoreThanTheyHaveTo(t *testing.T) {
	for name, unit := range units(t) {
		for _, line := range unitDemands {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("%s: %s is missing", name, line)
			}
		}
		for _, key := range []string{"MemoryMax=", "TasksMax=", "LoadCredential=token:"} {
			if !strings.Contains(unit, "\n"+key) {
				t.Errorf("%s has no %s", name, key)
			}
		}
		if !strings.Contains(unit, "\nDynamicUser=yes\n") && !strings.Contains(unit, "\nUser=project\n") || strings.Contains(unit, "User=root") {
			t.Errorf("%s runs as root", name)
		}
		if name == "file-read" && strings.Contains(unit, "ReadWritePaths=") {
			t.Errorf("%s can write", name)
		}
	}
}

// exposure is the most that systemd-analyze security may say of a unit, in tenths: 0 is
// locked up, 100 wide open.
var exposure = map[string]string{"file-read": "10", "file-write": "13", "shell-exec": "14"}

func TestUnitsPassSystemdsOwnLint(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	for name, unit := range units(t) {
		w := newFixture(t)
		file := filepath.Join(w.home, name+".service")
		here := strings.Replace(unit, "ExecStart=/usr/bin/", "ExecStart="+w.home+"/bin/", 1)
		if err := os.WriteFile(file, []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"verify", "--man=no", "--recursive-errors=no", file},
			{"security", "--offline=true", "--no-pager", "--threshold=" + exposure[name], file},
		} {
			if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || args[0] == "verify" && len(out) > 0 {
				t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		}
	}
}

func TestAUnitThatGrantsMoreIsFound(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	unit := units(t)["file-read"]
	for _, line := range []string{"SystemCallFilter=@system-service landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp\nSystemCallFilter=~@privileged @resources\n", "DynamicUser=yes\n", "CapabilityBoundingSet=\n"} {
		file := filepath.Join(t.TempDir(), "file-read.service")
		if err := os.WriteFile(file, []byte(strings.Replace(unit, line, "", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+exposure["file-read"], file).Run(); err == nil {
			t.Errorf("a unit without %q is taken", line)
		}
	}
}
