package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outputIDs are what list_execution_outputs answers.
func outputIDs(t *testing.T, c *mcptest.Client) (ids []string) {
	t.Helper()
	var list struct {
		Outputs []struct {
			ID string `json:"output_id"`
		} `json:"outputs"`
	}
	must(t, c.Call("list_execution_outputs", map[string]any{}).Decode(&list))
	for _, o := range list.Outputs {
		ids = append(ids, o.ID)
	}
	return ids
}

// The same state, and other allowed directories: nothing of a project is reached from another.
func TestAServerOfAnotherProjectReachesNothing(t *testing.T) {
	h := newHouse(t, "a/", "b/")
	env := mcptest.Options{Env: []string{"XDG_STATE_HOME=" + h.state}}
	serve := func(dirs ...string) *mcptest.Client {
		var flags []string
		for _, dir := range dirs {
			flags = append(flags, "--allow-path", dir)
		}
		return env.Start(t, "shell-exec", flags...)
	}
	a, b := filepath.Join(h.dir, "a"), filepath.Join(h.dir, "b")
	must(t, os.Symlink(a, filepath.Join(h.dir, "link")))
	first := serve(a, b)
	ran := h.call(first, "shell_execute", map[string]any{"command": "echo hunter2"})
	job := h.call(first, "shell_execute", map[string]any{"command": "echo hunter3; sleep 1000", "execution_mode": "detached"})
	h.until("the job has written", func() bool {
		return strings.Contains(first.Call("read_execution_output", map[string]any{"output_id": job.OutputID}).Text, "hunter3")
	})
	t.Cleanup(func() { _ = syscall.Kill(-job.PID, syscall.SIGKILL) })

	for name, other := range map[string]*mcptest.Client{
		"a subset": serve(a), "another": serve(b), "a superset": serve(a, b, h.dir), "the directory above": serve(h.dir),
	} {
		if ids := outputIDs(t, other); len(ids) != 0 {
			t.Errorf("%s lists %v", name, ids)
		}
		for _, id := range []string{ran.OutputID, job.OutputID, job.OutputID + ".stdout"} {
			if r := other.Call("read_execution_output", map[string]any{"output_id": id}); !r.IsError || strings.Contains(r.Text, "hunter") {
				t.Errorf("%s reads %s", name, r.Text)
			}
			if r := other.Call("delete_execution_outputs", map[string]any{"output_ids": []string{id}, "confirm": true}); !strings.Contains(r.Text, `"total_deleted":0`) && !strings.Contains(r.Text, "there is no stored output") {
				t.Errorf("%s deletes: %s", name, r.Text)
			}
		}
		for _, id := range []string{ran.ID, job.ID} {
			if r := other.Call("process_get_execution", map[string]any{"execution_id": id}); !r.IsError {
				t.Errorf("%s finds %s", name, r.Text)
			}
		}
		if r := other.Call("process_list", map[string]any{}); !strings.Contains(r.Text, "[nothing]") {
			t.Errorf("%s lists %s", name, r.Text)
		}
		if r := other.Call("process_terminate", map[string]any{"process_id": job.PID, "force": true}); !r.IsError {
			t.Errorf("%s signals: %s", name, r.Text)
		}
		if r := other.Call("process_monitor", map[string]any{"process_id": job.PID, "action": "start"}); !r.IsError {
			t.Errorf("%s monitors: %s", name, r.Text)
		}
	}

	// The same set in another order and spelling is the same project, for two servers at once.
	again := serve(b+"/", filepath.Join(h.dir, "link"), a, b+"/../b")
	if ids := outputIDs(t, again); len(ids) == 0 {
		t.Error("its own project lists nothing")
	}
	if r := again.Call("read_execution_output", map[string]any{"output_id": job.OutputID}); !strings.Contains(r.Text, "hunter3") {
		t.Errorf("its own project reads %s", r.Text)
	}
	if r := again.Call("security_set_restrictions", map[string]any{"allowed_directories": []string{a}}); r.IsError {
		t.Fatal(r.Text)
	}
	if r := again.Call("process_get_execution", map[string]any{"execution_id": job.ID}); r.IsError { // still the same project
		t.Errorf("once it is restricted: %s", r.Text)
	}
	if r := again.Call("process_terminate", map[string]any{"process_id": job.PID}); r.IsError || !strings.Contains(r.Text, "has ended") {
		t.Errorf("its own project ends it: %s", r.Text)
	}
}

// What level 1 cannot keep from commands, the server does not start with.
func TestStateIsNotGrantedToCommands(t *testing.T) {
	tree := mcptest.Tree(t, "work/", "home/.local/state/", "home/settings.toml=log-level = \"warn\"\n", "home/policy.toml=preset = \"development\"\n")
	home := filepath.Join(tree, "home")
	state := filepath.Join(home, ".local/state")
	must(t, os.Symlink(home, filepath.Join(tree, "link")))
	for _, c := range []struct {
		what  string
		args  []string
		words string // of the refusal; empty: it starts
	}{
		{"elsewhere", []string{"--allow-path", tree + "/work"}, ""},
		{"the home", []string{"--allow-path", home, "--sandbox-level", "1"}, "lies inside an allowed directory"},
		{"the home by a link", []string{"--allow-path", tree + "/link", "--sandbox-level", "1"}, "lies inside an allowed directory"},
		{"everything", []string{"--allow-path", "/", "--sandbox-level", "1"}, "lies inside an allowed directory"},
		{"the home to be read", []string{"--allow-path", tree + "/work", "--read-path", home, "--sandbox-level", "1"}, "lies inside an allowed directory"},
		{"the directory of states", []string{"--allow-path", state, "--sandbox-level", "1"}, "lies inside an allowed directory"},
		{"a part of it", []string{"--allow-path", state + "/mcp-server"}, "is a part of the servers' own state"},
		{"a part of it at level 2", []string{"--allow-path", state + "/mcp-server/audit", "--sandbox-level", "2"}, "is a part of the servers' own state"},
		{"without a sandbox", []string{"--allow-path", home, "--sandbox", "off"}, ""},
		{"settings", []string{"--allow-path", tree + "/work", "--allow-path", home, "--sandbox-level", "2", "--config", home + "/settings.toml"}, "settings.toml, which this server is configured by"},
		{"a policy", []string{"--allow-path", home, "--sandbox-level", "2", "--policy", home + "/policy.toml"}, "policy.toml, which this server is configured by"},
		{"the audit log", []string{"--allow-path", tree + "/work", "--audit-log", tree + "/work/log.jsonl"}, "log.jsonl, which this server is configured by or keeps"},
	} {
		must(t, os.MkdirAll(filepath.Join(state, "mcp-server", "audit"), 0o700))
		cmd := exec.Command("shell-exec", append([]string{"call", "shell_exec", "command=true"}, c.args...)...)
		cmd.Dir, cmd.Env = tree, append(os.Environ(), "XDG_STATE_HOME="+state, "HOME="+home)
		out, err := cmd.CombinedOutput()
		if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(string(out), c.words)) {
			t.Errorf("%s ends with %v: %s", c.what, err, out)
		}
	}
}

// A server that is killed leaves its temporary directory; the next one removes it, and nothing else.
func TestTheTemporaryDirectoryOfAKilledServerGoes(t *testing.T) {
	h := newHouse(t)
	temp := t.TempDir()
	o := mcptest.Options{Env: []string{"TMPDIR=" + temp}}
	must(t, os.MkdirAll(filepath.Join(temp, "mcp-shell-notes"), 0o700)) // somebody's
	first := h.startAs(o)
	e := h.call(first, "shell_execute", map[string]any{"command": "mkdir -p $TMPDIR/a/b; ln -s " + h.dir + " $TMPDIR/a/link; echo x >$TMPDIR/a/b/c; chmod 500 $TMPDIR/a; echo $TMPDIR"})
	dir := strings.TrimSpace(e.Stdout)
	if _, err := os.Stat(dir + "/a/b/c"); err != nil || filepath.Dir(dir) != temp {
		t.Fatalf("%s: %v", dir, err)
	}
	first.Signal(syscall.SIGKILL)
	first.Close()
	second := h.startAs(o)
	h.until("the directory of the killed server goes", func() bool { _, err := os.Lstat(dir); return os.IsNotExist(err) })
	own := strings.TrimSpace(h.call(second, "shell_execute", map[string]any{"command": "echo $TMPDIR"}).Stdout)
	for _, path := range []string{own, filepath.Join(temp, "mcp-shell-notes"), h.dir} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	second.Close()
	if left, _ := filepath.Glob(temp + "/mcp-shell-*"); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

func TestALeftoverIsToldWithItsDeadline(t *testing.T) {
	h := newHouse(t)
	c := h.start("--vocabulary", "standard")
	for tool, args := range map[string]map[string]any{
		"shell_exec":    {"command": "sleep 1000 & echo x"},
		"shell_execute": {"command": "sleep 1000 & echo x", "execution_mode": "foreground", "timeout_seconds": 2},
	} {
		r := c.Call(tool, args)
		var out struct {
			Message string `json:"message"`
		}
		must(t, r.Decode(&out))
		if !strings.Contains(out.Message, "still running; they are ended at 20") {
			b, _ := json.Marshal(out)
			t.Errorf("%s: %s %s", tool, b, r.Text)
		}
	}
}

// TestLevelTwoHidesTheStateFromCommands allows what the state lies in, by every name, and has commands try to
// get at it: through the names, after moving what is above it, and with a link in its place.
func TestLevelTwoHidesTheStateFromCommands(t *testing.T) {
	for _, c := range []struct{ what, allow, read string }{
		{"the home", "home", ""}, {"the home by a link", "link", ""}, {"everything", "", ""}, {"the home to be read", "work", "home"}, {"the directory of states", "home/.local/state", ""},
	} {
		tree := mcptest.Tree(t, "work/", "home/.local/state/mcp-server/audit/other.jsonl=hunter2\n")
		home := filepath.Join(tree, "home")
		must(t, os.Symlink(home, filepath.Join(tree, "link")))
		must(t, os.Chmod(filepath.Join(home, ".local/state/mcp-server"), 0o700))
		must(t, os.Chmod(filepath.Join(home, ".local/state/mcp-server/audit"), 0o700))
		args := []string{"--allow-path", "/" + filepath.Join(tree, c.allow), "--sandbox-level", "2"}
		if c.allow == "" {
			args[1] = "/"
		}
		if c.read != "" {
			args = append(args, "--read-path", filepath.Join(tree, c.read))
		}
		h := mcptest.Options{Env: []string{"XDG_STATE_HOME=" + filepath.Join(home, ".local/state"), "HOME=" + home}}.Start(t, "shell-exec", args...)
		if r := h.Call("shell_exec", map[string]any{"command": "echo works; ls -d " + home + "/.local/state"}); !strings.Contains(r.Text, "works") || !strings.Contains(r.Text, home+"/.local/state") {
			t.Errorf("%s: %s", c.what, r.Text) // else the rest says nothing
		}
		for _, command := range []string{
			"cat %s/.local/state/mcp-server/audit/other.jsonl; ls -A %s/.local/state/mcp-server",
			"rm -rf %s/.local/state/mcp-server/audit; echo x > %s/.local/state/mcp-server/x",
			"mv %s/.local %s/moved; cat " + home + "/moved/state/mcp-server/audit/other.jsonl",
			"cat " + home + "/moved/state/mcp-server/audit/other.jsonl",
			"mkdir -p %s/.local; ln -s ../moved/state %s/.local/state; cat " + home + "/moved/state/mcp-server/audit/other.jsonl",
		} {
			r := h.Call("shell_exec", map[string]any{"command": strings.ReplaceAll(command, "%s", home)})
			if strings.Contains(r.Text, "hunter2") || strings.Contains(r.Text, "jobs") {
				t.Errorf("%s: %s: %s", c.what, command, r.Text)
			}
		}
		// A state that a command put in its place would be taken for the servers' by the next one that starts.
		if text, err := os.ReadFile(home + "/.local/state/mcp-server/audit/other.jsonl"); err != nil || string(text) != "hunter2\n" {
			t.Errorf("%s: the state was changed", c.what)
		}
	}
}
