package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// secret is the value of variables that must not get anywhere.
const secret = "leak-3f1c9"

func (h house) startWithSecrets(flags ...string) *mcptest.Client {
	var env []string
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "MY_PASSWORD", "PYTHONPATH", "BASH_ENV", "SSH_AUTH_SOCK", "LC", "PATHS"} {
		env = append(env, name+"="+secret)
	}
	return h.startAs(mcptest.Options{Env: append(env, "MARK_ME=passed", "LC_TEST=passed", "PAGER=lesser")}, flags...)
}

func TestACommandGetsNamedVariablesOnly(t *testing.T) {
	h := newHouse(t)
	c := h.startWithSecrets()
	e := h.call(c, "shell_execute", map[string]any{"command": "env", "environment_variables": map[string]string{"MINE": "yes", "CI": "0"}})
	lines := "\n" + e.Stdout
	for _, want := range []string{
		"MARK_ME=passed", "LC_TEST=passed", "MINE=yes", "CI=0", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1", "TERM=dumb",
		"PATH=" + os.Getenv("PATH"),
	} {
		if !strings.Contains(lines, "\n"+want+"\n") {
			t.Errorf("%s is not among %s", want, e.Stdout)
		}
	}
	if strings.Contains(lines, secret) {
		t.Errorf("it has secrets: %s", e.Stdout)
	}
	e = h.call(c, "shell_execute", map[string]any{"command": "env"})
	if !strings.Contains(e.Stdout, "CI=1\n") || strings.Contains(e.Stdout, "MINE=") {
		t.Errorf("the next command gets %s", e.Stdout)
	}
}

func TestACommandCannotReadTheVariablesOfItsServer(t *testing.T) {
	h := newHouse(t)
	for sandbox, leaks := range map[string]bool{"auto": false, "off": true} {
		c := h.startWithSecrets("--sandbox", sandbox)
		// in a file, which the policy does not read
		err := os.WriteFile(filepath.Join(h.dir, "look.py"), fmt.Appendf(nil, "print(open('/proc/%d/environ').read())", c.PID()), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		r := c.Call("shell_exec", map[string]any{"command": "python3 look.py"})
		if r.IsError || strings.Contains(r.Text, secret) != leaks {
			t.Errorf("--sandbox %s: %s", sandbox, r.Text)
		}
	}
}

func TestVariablesThatLoadCodeAreRefused(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	for _, name := range []string{"LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "GIT_SSH_COMMAND", "NODE_OPTIONS", "PYTHONPATH", "PATH", "PERL5OPT", "BASH_FUNC_ls%%", "PAGER", "IFS"} {
		r := c.Call("shell_execute", map[string]any{"command": "echo ran >ran.txt", "environment_variables": map[string]string{name: "/tmp/x"}})
		if r.Code != "SECURITY_003" || !strings.Contains(r.Text, name) {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
	if _, err := os.Stat(h.dir + "/ran.txt"); err == nil {
		t.Error("a command ran all the same")
	}
}

func TestNoValueOfAVariableIsRecorded(t *testing.T) {
	h := newHouse(t)
	log := t.TempDir()
	c := h.startWithSecrets("--audit-log", filepath.Join(log, "audit.jsonl"))
	e := h.call(c, "shell_execute", map[string]any{"command": "true", "environment_variables": map[string]string{"TOKEN": secret}, "input_data": secret})
	if r := c.Call("process_get_execution", map[string]any{"execution_id": e.ID}); strings.Contains(string(r.Raw), secret) || !strings.Contains(string(r.Raw), "TOKEN") {
		t.Errorf("told is %s", r.Raw)
	}
	c.Close()
	wrote := 0
	for _, dir := range []string{log, h.state} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			wrote += strings.Count(string(b), "shell_execute")
			if strings.Contains(string(b), secret) {
				t.Errorf("%s has the value: %s", path, b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if wrote == 0 {
		t.Error("nothing was recorded")
	}
}
