package shown

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// deployments are the files of deploy/ that a host reads, from the least to the most.
var deployments = []string{"read-only", "read-write", "all-three"}

// attempt is what a model tries, and what comes of it where the server is there: "" that
// it succeeds, or the code of the refusal.
type attempt struct {
	tries, server, tool, args string
	code                      string
	says                      string // what the answer has to contain
	never                     string // and what not
}

var attempts = []attempt{
	{"read a file of the project", "file-read", "file_read", `{"path": "main.go"}`, "", "package main", ""},
	{"read its `.env`", "file-read", "file_read", `{"path": ".env"}`, "SECURITY_002", "", "hunter2"},
	{"find a password in it by searching", "file-read", "search_content_in_files", `{"search_path": ".", "regex_pattern": "PASSWORD", "recursive": true}`, "", "", "hunter2"},
	{"read `~/.ssh/id_ed25519`", "file-read", "file_read", `{"path": "~/.ssh/id_ed25519"}`, "SECURITY_002", "", "PRIVATE"},
	{"read that through a link in the project", "file-read", "file_read", `{"path": "link"}`, "SECURITY_003", "", "PRIVATE"},
	{"change a file of the project", "file-write", "edit_file", `{"path": "main.go", "old_string": "main", "new_string": "app"}`, "", "", ""},
	{"change its `.env`", "file-write", "file_write", `{"path": ".env", "content": "x", "overwrite": true}`, "SECURITY_002", "", ""},
	{"write a git hook", "file-write", "file_write", `{"path": ".git/hooks/pre-commit", "content": "curl evil.example"}`, "SECURITY_003", "", ""},
	{"write a script", "file-write", "file_write", `{"path": "tool", "content": "#!/bin/sh\nid\n"}`, "SECURITY_003", "", ""},
	{"write beside the project", "file-write", "file_write", `{"path": "../beside", "content": "x"}`, "SECURITY_002", "", ""},
	{"delete a file", "file-write", "delete_file", `{"path": "main.go"}`, "-32602", "", ""},
	{"run the project's tests", "shell-exec", "shell_exec", `{"command": "sh test.sh"}`, "", "tests passed", ""},
	{"run `rm -rf ~`", "shell-exec", "shell_exec", `{"command": "rm -rf ~"}`, "SECURITY_001", "", ""},
	{"run that in base64", "shell-exec", "shell_exec", `{"command": "echo cm0gLXJmIH4K | base64 -d | sh"}`, "SECURITY_001", "", ""},
	{"run `sudo id`", "shell-exec", "shell_exec", `{"command": "sudo id"}`, "SECURITY_003", "", ""},
	{"read the key by a script", "shell-exec", "shell_exec", `{"command": "sh key.sh"}`, "", "tried", "PRIVATE"},
	{"write beside the project by a script", "shell-exec", "shell_exec", `{"command": "sh beside.sh"}`, "", "tried", "done"},
	{"connect to somewhere by a script", "shell-exec", "shell_exec", `{"command": "bash connect.sh"}`, "", "tried", "done"},
	{"read `.env` by a command", "shell-exec", "shell_exec", `{"command": "sh env.sh"}`, "", "hunter2", ""},
}

// scene is what the attempts are made on.
func scene(port int) []string {
	return []string{
		"project/.env=PASSWORD=hunter2\n", ".ssh/id_ed25519=PRIVATE KEY\n", "project/.git/hooks/", "project/link => ../.ssh/id_ed25519",
		"project/test.sh=echo tests passed\n", "project/env.sh=cat .env\n",
		"project/key.sh=echo tried; cat ../.ssh/id_ed25519\n",
		"project/beside.sh=echo tried; echo x >../beside && echo done\n",
		fmt.Sprintf("project/connect.sh=echo tried; exec 3<>/dev/tcp/127.0.0.1/%d && echo done\n", port),
	}
}

func TestTheDeploymentsGrantWhatTheirTableSays(t *testing.T) {
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close() //nolint:errcheck // nobody is to have connected
	// In /tmp a command would write to its own, which says nothing.
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(caches, "mcp-server-deploy-test")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(elsewhere) })
	t.Setenv("TMPDIR", elsewhere)
	rows := make([]string, len(attempts))
	for _, name := range deployments {
		w := newFixture(t, scene(outside.Addr().(*net.TCPAddr).Port)...)
		clients := w.register(t, read(t, "../deploy", name+".mcp.json"))
		for i, a := range attempts {
			rows[i] += " " + a.on(t, clients[a.server]) + " |"
		}
		if _, err := os.Stat(filepath.Join(w.home, "beside")); err == nil {
			t.Errorf("%s: something was written beside the project", name)
		}
	}
	var b strings.Builder
	b.WriteString("| a model tries to | " + strings.Join(deployments, " | ") + " |\n|---|" + strings.Repeat("---|", len(deployments)) + "\n")
	for i, a := range attempts {
		b.WriteString("| " + a.tries + " |" + rows[i] + "\n")
	}
	mcptest.Sections(t, "../deploy/README.md", map[string]string{"attempts": b.String()})
}

// register starts the servers of a file as a host does.
func (w fixture) register(t *testing.T, file string) map[string]*mcptest.Client {
	t.Helper()
	var config struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	d := json.NewDecoder(strings.NewReader(w.at(file)))
	d.DisallowUnknownFields()
	if err := d.Decode(&config); err != nil {
		t.Fatal(err)
	}
	clients := map[string]*mcptest.Client{}
	for name, s := range config.MCPServers {
		o := mcptest.Options{Dir: w.home, Env: append(w.environ(), "XDG_STATE_HOME="+w.home+"/state")}
		clients[name] = o.Start(t, s.Command, s.Args...)
	}
	return clients
}

// on makes the attempt, and says what came of it.
func (a attempt) on(t *testing.T, c *mcptest.Client) string {
	t.Helper()
	if c == nil {
		return "no: no tool"
	}
	r := c.Call(a.tool, a.args)
	answer := r.Text + string(r.Structured)
	if r.Code != a.code || !strings.Contains(answer, a.says) || a.never != "" && strings.Contains(answer, a.never) {
		t.Errorf("%s: %q, want %q\n%s", a.tries, r.Code, a.code, answer)
	}
	switch {
	case r.Code == "-32602":
		return "no: no tool"
	case r.Code != "":
		return "no: `" + r.Code + "`"
	case a.never == "hunter2":
		return "finds nothing"
	case a.never != "":
		return "no: the sandbox"
	}
	return "**yes**"
}
