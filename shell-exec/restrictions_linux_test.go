package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// answer is what a call with restrictions or working directories answers, in part.
type answer struct {
	ID          string   `json:"restriction_id"`
	Active      bool     `json:"active"`
	Directories []string `json:"allowed_directories"`
	Unchanged   []string `json:"still_running"`
	Dir         string   `json:"working_directory"`
	Default     string   `json:"default_working_directory"`
	Changed     bool     `json:"working_directory_changed"`
	Stdout      string   `json:"stdout"`
	Status      string   `json:"status"`
	Error       struct {
		Code    string         `json:"code"`
		Details map[string]any `json:"details"`
	} `json:"error"`
}

func ask(t *testing.T, c *mcptest.Client, tool string, args map[string]any) (a answer) {
	t.Helper()
	if err := c.Call(tool, args).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func run(t *testing.T, c *mcptest.Client, command string) answer {
	t.Helper()
	return ask(t, c, "shell_execute", map[string]any{"command": command})
}

func TestRestrictionsHoldFromTheNextCommandOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "in/", "out/")
	c := h.start()
	before := h.call(c, "shell_execute", map[string]any{"command": "sleep 60", "execution_mode": "background"})
	set := ask(t, c, "security_set_restrictions", map[string]any{
		"blocked_commands": []string{"git push"}, "allowed_directories": []string{"in"}, "max_execution_time": 1, "max_memory_mb": 64, "enable_network": false})
	if !set.Active || set.ID == "" || !slices.Equal(set.Directories, []string{filepath.Join(h.dir, "in")}) || !slices.Equal(set.Unchanged, []string{before.ID}) {
		t.Fatalf("%+v", set)
	}
	if a := run(t, c, "git push"); a.Error.Code != "SECURITY_001" && a.Error.Code != "SECURITY_003" || a.Error.Details["restriction_id"] != set.ID {
		t.Errorf("a blocked command: %+v", a)
	}
	if a := run(t, c, "pwd"); a.Stdout != filepath.Join(h.dir, "in")+"\n" {
		t.Errorf("where commands start: %+v", a)
	}
	if a := run(t, c, "echo x > ../out/file"); h.has("out/file") {
		t.Errorf("it wrote to a directory that was left: %+v", a)
	}
	if a := ask(t, c, "shell_execute", map[string]any{"command": "pwd", "working_directory": "../out"}); a.Error.Code != "SECURITY_002" || a.Error.Details["restriction_id"] != set.ID {
		t.Errorf("a directory that was left: %+v", a)
	}
	if a := run(t, c, "sleep 60"); a.Status != "timeout" {
		t.Errorf("a command that takes longer: %+v", a)
	}
	if a := run(t, c, `python3 -c 'x = b"x" * (200 << 20); print("held")'`); strings.Contains(a.Stdout, "held") || a.Status == "" && a.Error.Code != "EXECUTION_003" {
		t.Errorf("a command that needs more memory: %+v", a)
	}
	if a := run(t, c, "exec 3<>/dev/tcp/127.0.0.1/9 && echo open"); strings.Contains(a.Stdout, "open") {
		t.Errorf("a connection: %+v", a)
	}
}

// TestRestrictionsCountForWhatWaitsForAnAnswer sets them while a person thinks about a command that they stand against.
func TestRestrictionsCountForWhatWaitsForAnAnswer(t *testing.T) {
	h := newHouse(t, "in/", "out/")
	asked, over := make(chan struct{}), make(chan struct{})
	c := h.startAs(mcptest.Options{}.WithPerson(func(string) string { asked <- struct{}{}; <-over; return "accept" }))
	terminal := h.call(c, "terminal_create", nil)
	calls := map[string]map[string]any{
		"shell_exec":          {"command": "rm -rf *; echo x >out/ran"},
		"shell_execute":       {"command": "rm -rf *; echo x >out/ran", "execution_mode": "detached"},
		"terminal_send_input": {"terminal_id": terminal.Terminal, "input": "rm -rf *; mkdir out; echo x >out/ran", "execute": true},
	}
	var waiting []*mcptest.Pending
	for tool, args := range calls {
		waiting = append(waiting, c.Begin("tools/call", map[string]any{"name": tool, "arguments": args}))
	}
	for range calls {
		<-asked
	}
	set := ask(t, c, "security_set_restrictions", map[string]any{"blocked_commands": []string{"rm"}})
	close(over)
	for _, w := range waiting {
		var a answer
		if err := w.Result().Decode(&a); err != nil || a.Error.Code != "SECURITY_003" || a.Error.Details["restriction_id"] != set.ID {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if _, err := os.Stat(filepath.Join(h.dir, "in")); err != nil || h.has("out/ran") {
		t.Error("what a restriction blocks was run after it was set")
	}
}

func TestADetachedCommandIsHeldToARestrictedTime(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	ask(t, c, "security_set_restrictions", map[string]any{"max_execution_time": 1})
	e := h.call(c, "shell_execute", map[string]any{"command": "sleep 60", "execution_mode": "detached"})
	if e = h.call(c, "process_get_execution", map[string]any{"execution_id": e.ID, "wait_seconds": 60}); e.Status != "timeout" {
		t.Errorf("%+v", e)
	}
}

func TestRestrictionsCannotBeTakenBack(t *testing.T) {
	h := newHouse(t, "in/")
	c := h.start("--network=false", "--timeout", "60s")
	for _, wider := range []map[string]any{
		{"enable_network": true}, {"max_execution_time": 61}, {"max_memory_mb": 2048}, {"allowed_directories": []string{"/"}},
	} {
		if a := ask(t, c, "security_set_restrictions", wider); a.Error.Code != "SECURITY_003" {
			t.Errorf("%v beyond what the operator set: %+v", wider, a)
		}
	}
	set := ask(t, c, "security_set_restrictions", map[string]any{"allowed_commands": []string{"pwd"}})
	for _, wider := range []map[string]any{
		{"allowed_commands": []string{"ls", "pwd"}}, {"security_preset": "sandbox"}, {"security_mode": "permissive"},
	} {
		ask(t, c, "security_set_restrictions", wider)
		if a := run(t, c, "ls"); a.Error.Code == "" {
			t.Errorf("%v took a restriction back", wider)
		}
	}
	if a := run(t, c, "pwd"); a.Stdout == "" || set.ID == "" {
		t.Errorf("what stays allowed: %+v", a)
	}
	if !strings.Contains(string(h.log()), set.ID) {
		t.Error("the audit log does not name the restrictions")
	}
}

func TestTheDefaultWorkingDirectory(t *testing.T) {
	h := newHouse(t, "one/", "two/", "file=x")
	c := h.startAs(mcptest.Options{Env: []string{"MCP_SHELL_DEFAULT_WORKDIR=" + filepath.Join(h.dir, "one")}})
	if a := run(t, c, "pwd"); a.Stdout != filepath.Join(h.dir, "one")+"\n" || a.Default != a.Dir || a.Changed {
		t.Errorf("as the environment says: %+v", a)
	}
	if a := ask(t, c, "shell_execute", map[string]any{"command": "pwd", "working_directory": filepath.Join(h.dir, "two")}); !a.Changed || a.Default != filepath.Join(h.dir, "one") {
		t.Errorf("a directory of its own: %+v", a)
	}
	if a := ask(t, c, "shell_set_default_workdir", map[string]any{"working_directory": filepath.Join(h.dir, "two")}); a.Default != filepath.Join(h.dir, "two") || !a.Changed {
		t.Errorf("setting it: %+v", a)
	}
	if a := run(t, c, "pwd"); a.Stdout != filepath.Join(h.dir, "two")+"\n" {
		t.Errorf("afterwards: %+v", a)
	}
	for dir, code := range map[string]string{"/": "SECURITY_002", filepath.Join(h.dir, "file"): "PARAM_002", filepath.Join(h.dir, "none"): "RESOURCE_003"} {
		if a := ask(t, c, "shell_set_default_workdir", map[string]any{"working_directory": dir}); a.Error.Code != code {
			t.Errorf("%s: %+v", dir, a)
		}
	}
}

func TestTheDirectoriesOfTheEnvironment(t *testing.T) {
	h := newHouse(t, "one/", "two/")
	o := mcptest.Options{Env: []string{"XDG_STATE_HOME=" + h.state, "MCP_SHELL_ALLOWED_WORKDIRS=" + filepath.Join(h.dir, "one") + "," + filepath.Join(h.dir, "two")}}
	c := o.Start(t, "shell-exec")
	for _, dir := range []string{"one", "two"} {
		if a := ask(t, c, "shell_execute", map[string]any{"command": "pwd", "working_directory": filepath.Join(h.dir, dir)}); a.Stdout == "" {
			t.Errorf("%s: %+v", dir, a)
		}
	}
	if a := ask(t, c, "shell_execute", map[string]any{"command": "pwd", "working_directory": h.dir}); a.Error.Code != "SECURITY_002" {
		t.Errorf("the directory above: %+v", a)
	}
}
