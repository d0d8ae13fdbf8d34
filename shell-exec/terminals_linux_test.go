package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// desk is a terminal of a server, as a client sits before it.
type desk struct {
	t      *testing.T
	client *mcptest.Client
	id     string
	pid    int
}

// shownText is what terminal_get_output answers, in part.
type shownText struct {
	Output     string `json:"output"`
	Alternate  bool   `json:"alternate_screen"`
	Waited     string `json:"wait_result"`
	Status     string `json:"status"`
	Foreground struct {
		Name string `json:"name"`
	} `json:"foreground_process"`
}

func (h house) sit(c *mcptest.Client, args map[string]any) desk {
	h.t.Helper()
	e := h.call(c, "terminal_create", args)
	d := desk{h.t, c, e.Terminal, e.PID}
	d.until(`[#$] $`)
	return d
}

// types sends a line and is the answer, which may be an error.
func (d desk) types(line string, more ...any) (a answer) {
	d.t.Helper()
	args := map[string]any{"terminal_id": d.id, "input": line, "execute": true}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return ask(d.t, d.client, "terminal_send_input", args)
}

// looks is what there is to see of the terminal now.
func (d desk) looks() (s shownText) {
	_ = d.client.Call("terminal_get_output", map[string]any{"terminal_id": d.id, "include_foreground_process": true}).Decode(&s)
	return s
}

// until is what the terminal shows once a new line of it matches.
func (d desk) until(pattern string) (s shownText) {
	d.t.Helper()
	r := d.client.Call("terminal_get_output", map[string]any{
		"terminal_id": d.id, "screen": true, "include_foreground_process": true, "wait_for": map[string]any{"pattern": pattern, "timeout_ms": 120_000}})
	if err := r.Decode(&s); err != nil || r.IsError {
		d.t.Fatalf("%v %s", err, r.Text)
	}
	if s.Waited != "matched" {
		d.t.Fatalf("%q does not come; the terminal shows\n%s", pattern, s.Output)
	}
	return s
}

func TestATerminalIsTypedAtAndLookedAt(t *testing.T) {
	h := newHouse(t)
	d := h.sit(h.start(), map[string]any{"session_name": "work"})
	shell := d.looks().Foreground.Name
	d.types("echo one; pwd")
	if s := d.until("^" + h.dir + "$"); !strings.Contains(s.Output, "one\n") || s.Alternate {
		t.Errorf("%+v", s)
	}
	d.types("vi letter.txt")
	s := d.until("New")
	editor := s.Foreground.Name
	if !s.Alternate || !strings.HasPrefix(editor, "vi") {
		t.Errorf("in the editor: %+v", s)
	}
	if a := d.types("x", "send_to", "nano"); a.Error.Code != "SECURITY_003" {
		t.Errorf("for a program that is not there: %+v", a)
	}
	d.types(`idear you\e:wq`, "control_codes", true, "send_to", editor)
	d.until(`[#$] $`)
	h.until("the shell is back", func() bool { return d.looks().Foreground.Name == shell }) // the prompt may show before that
	if b, err := os.ReadFile(filepath.Join(h.dir, "letter.txt")); err != nil || string(b) != "dear you\n" {
		t.Errorf("the letter is %q %v", b, err)
	}
	// Until the shell shows its prompt, nobody can say what it would make of a line.
	h.until("the shell takes a line", func() bool { return d.types("exit 3").Error.Code == "" })
	h.until("the shell has ended", func() bool { return d.looks().Status == "exited" })
}

func TestWhatIsTypedIsJudged(t *testing.T) {
	h := newHouse(t)
	d := h.sit(h.start(), nil)
	for line, code := range map[string]string{
		"rm -rf /": "SECURITY_001", "git push --force": "SECURITY_003", "echo $(rm -rf ~)": "SECURITY_001", "sudo id": "SECURITY_003",
		"cd .git; head -1\ncd " + h.dir + "\nrm -rf objects": "SECURITY_003", "cd .git\nhead -1\ncd ..\nrm -rf objects": "SECURITY_003",
		"true; rm -rf ~\ntrue": "SECURITY_001", "true\nrm -rf ~\nfor i in 1; do": "SECURITY_001",
	} {
		if a := d.types(line); a.Error.Code != code {
			t.Errorf("%q: %+v", line, a.Error)
		}
	}
	d.types("rm -rf", "execute", false)
	if a := d.types(" /"); a.Error.Code != "SECURITY_001" {
		t.Errorf("in two parts: %+v", a)
	}
	d.types("", "execute", false, "keys", []string{"Ctrl+U"})
	if a := d.types("git pu", "keys", []string{"Tab", "Enter"}, "execute", false); a.Error.Code != "SECURITY_003" {
		t.Errorf("a completion: %+v", a)
	}
	d.types("", "execute", false, "keys", []string{"Ctrl+C"})
	d.types("alias gone='rm -rf'")
	if a := d.types("gone ~"); a.Error.Code == "" {
		t.Error("an alias of before was run unjudged")
	}
	d.types("sleep 1")
	if a := d.types("rm -rf /"); a.Error.Code != "SECURITY_001" {
		t.Errorf("typed ahead: %+v", a)
	}
	for _, line := range []string{"BASH_ALIASES[ll]=ls", "printf -v PROMPT_COMMAND ls", "read -r PS1 < f", "fc -s a=b", "bind '\"q\": \"x\"'", "shopt -u interactive_comments"} {
		if a := d.types(line); a.Error.Code != "SECURITY_003" {
			t.Errorf("%q: %+v", line, a.Error)
		}
	}
	if a := d.types("true"); a.Error.Code != "" {
		t.Errorf("after lines that were not typed: %+v", a.Error)
	}
	for _, name := range []string{"MAILPATH", "HISTFILE", "PROMPT_COMMAND"} {
		if a := ask(t, d.client, "terminal_create", map[string]any{"environment_variables": map[string]string{name: "x"}}); a.Error.Code != "SECURITY_003" {
			t.Errorf("%s: %+v", name, a.Error)
		}
	}
	if a := ask(t, d.client, "shell_execute", map[string]any{"command": "rm -rf /", "create_terminal": true}); a.Error.Code != "SECURITY_001" {
		t.Errorf("at the start: %+v", a)
	}
}

// What is unfinished is run as it is where its end is told: a here-document by any shell, and a line without Enter by one
// that has no editor of its own.
func TestWhatEndsByTheEndOfAFileIsJudged(t *testing.T) {
	h := newHouse(t, ".git/HEAD=x")
	c := h.start()
	for _, row := range []struct {
		shell string
		steps []map[string]any
		code  string
	}{
		{"bash", []map[string]any{{"input": "rm -rf .git <<EOF", "execute": true}, {"input": "", "keys": []string{"Ctrl+D"}}}, "SECURITY_003"},
		{"sh", []map[string]any{{"input": "rm -rf .git <<EOF", "execute": true}, {"input": "", "keys": []string{"Ctrl+D"}}}, "SECURITY_003"},
		{"sh", []map[string]any{{"input": "rm -rf .git"}, {"input": "", "keys": []string{"Ctrl+D", "Ctrl+D"}}}, "SECURITY_001"},
		{"sh", []map[string]any{{"input": "cat", "execute": true}, {"input": "fine\n", "keys": []string{"Ctrl+D"}}}, ""},
	} {
		d := h.sit(c, map[string]any{"shell_type": row.shell})
		var last answer
		for _, step := range row.steps {
			step["terminal_id"] = d.id
			last = ask(t, c, "terminal_send_input", step)
		}
		if last.Error.Code != row.code {
			t.Errorf("%s, %v: %+v", row.shell, row.steps, last.Error)
		}
		ask(t, c, "terminal_close", map[string]any{"terminal_id": d.id})
	}
	if !h.has(".git/HEAD") {
		t.Error("it ran")
	}
}

func TestAPersonIsAskedAboutWhatIsTyped(t *testing.T) {
	t.Parallel()
	for _, era := range mcptest.Eras() {
		h := newHouse(t)
		var questions []string
		o := mcptest.Options{Era: era}.WithPerson(func(question string) string {
			questions = append(questions, question)
			return "accept"
		})
		c := h.startAs(o)
		d := h.sit(c, nil)
		if a := d.types("git push --force"); a.Error.Code != "" || len(questions) != 1 || !strings.Contains(questions[0], "> git push --force") {
			t.Errorf("%s: %+v after %q", era, a.Error, questions)
		}
		d.until("(?i)fatal|not a git|denied|error|[#$] $")
		if a := d.types("true\ngit push -f"); a.Error.Code != "" || len(questions) != 2 || !strings.Contains(questions[1], "> true\n> git push -f") {
			t.Errorf("%s, several lines: %+v after %q", era, a.Error, questions)
		}
		if a := ask(t, c, "shell_execute", map[string]any{"command": "git push --force", "create_terminal": true}); a.Error.Code != "" || len(questions) != 3 {
			t.Errorf("%s, at the start: %+v after %q", era, a.Error, questions)
		}
		d = h.sit(c, nil)
		d.types("true")
		d.types("set -o posix")
		if a := d.types("true"); a.Error.Code != "" || len(questions) != 5 || !strings.Contains(questions[4], "> true") {
			t.Errorf("%s, after a line that changes the shell: %+v after %q", era, a.Error, questions)
		}
	}
}

func TestATerminalIsInTheSandbox(t *testing.T) {
	h := newHouse(t)
	outside := mcptest.Tree(t, "secret=hunter2")
	d := h.sit(h.start(), nil)
	d.types("cat " + filepath.Join(outside, "secret") + "; echo read: $?")
	if s := d.until("^read: "); strings.Contains(s.Output, "hunter2") {
		t.Errorf("it read outside:\n%s", s.Output)
	}
	d.types("python3 -c 'open(\"" + filepath.Join(outside, "made") + "\", \"w\")'; echo written: $?")
	d.until("^written: ")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("it wrote outside: %v %v", entries, err)
	}
}

func TestRestrictionsHoldForWhatIsTypedNext(t *testing.T) {
	h := newHouse(t)
	d := h.sit(h.start(), nil)
	set := ask(t, d.client, "security_set_restrictions", map[string]any{"blocked_commands": []string{"ls"}})
	if !slices.Equal(set.Unchanged, []string{d.id}) {
		t.Errorf("%+v", set)
	}
	if a := d.types("ls"); a.Error.Details["restriction_id"] != set.ID {
		t.Errorf("%+v", a.Error)
	}
}

func TestTheDirectoryOfTerminalsThatWait(t *testing.T) {
	h := newHouse(t, "it's/")
	c := h.start()
	waits, busy := h.sit(c, nil), h.sit(c, nil)
	busy.types("cat")
	busy.until("^cat|cat$")
	h.until("cat has the keyboard", func() bool {
		var s shownText
		_ = c.Call("terminal_get_output", map[string]any{"terminal_id": busy.id, "include_foreground_process": true}).Decode(&s)
		return s.Foreground.Name == "cat"
	})
	var a struct {
		Changed   []string `json:"changed_terminals"`
		Unchanged []string `json:"unchanged_terminals"`
	}
	err := c.Call("shell_set_default_workdir", map[string]any{"working_directory": "it's", "apply_to_existing_sessions": true}).Decode(&a)
	if err != nil || !slices.Equal(a.Changed, []string{waits.id}) || !slices.Equal(a.Unchanged, []string{busy.id}) {
		t.Errorf("%+v %v", a, err)
	}
	waits.types("pwd")
	waits.until("/it's$")
}

func TestTerminalsAreLimitedAndEndWithTheServer(t *testing.T) {
	h := newHouse(t)
	c := h.start("--max-terminals", "2")
	d := h.sit(c, nil)
	h.sit(c, nil)
	if a := ask(t, c, "terminal_create", map[string]any{}); a.Error.Code != "RESOURCE_005" || a.Error.Details["limit"] != float64(2) {
		t.Errorf("a third one: %+v", a.Error)
	}
	d.types("setsid sleep 600 & (sleep 600 &); sleep 600")
	h.until("they sleep", func() bool { return h.marked() >= 5 })
	c.Hangup()
	h.until("nothing is left", func() bool { return h.marked() == 0 })
	c.Close()
}

func TestWhoSubscribesToAnExecutionHearsOfItsMonitor(t *testing.T) {
	for _, era := range mcptest.Eras() {
		h := newHouse(t)
		c := h.startAs(mcptest.Options{Era: era})
		e := h.call(c, "shell_execute", map[string]any{"command": "while :; do :; done", "execution_mode": "background"})
		uri := "execution://" + e.ID
		if era == mcptest.Legacy {
			c.Result("resources/subscribe", map[string]any{"uri": uri})
		} else {
			c.Begin("subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{uri}}})
			c.Await(func(m mcptest.Message) bool { return strings.HasSuffix(m.Method, "subscriptions/acknowledged") })
		}
		h.call(c, "process_monitor", map[string]any{"process_id": e.PID, "monitor_interval_ms": 100})
		c.Await(func(m mcptest.Message) bool {
			return m.Method == "notifications/resources/updated" && strings.Contains(string(m.Params), uri)
		})
		h.until("the resource has figures", func() bool {
			return strings.Contains(string(c.Result("resources/read", map[string]any{"uri": uri})), `\"cpu_percent\"`)
		})
		h.until("it took time of a processor", func() bool {
			var told struct {
				Monitor string             `json:"monitor_id"`
				Metrics map[string]float64 `json:"metrics"`
			}
			err := c.Call("process_get_execution", map[string]any{"execution_id": e.ID}).Decode(&told)
			return err == nil && told.Monitor != "" && told.Metrics["cpu_seconds"] > 0
		})
	}
}

// session is the terminal session of the README, a call a line.
var session = []struct{ tool, args string }{
	{"terminal_create", `{"session_name":"work","dimensions":{"width":60,"height":6}}`},
	{"terminal_get_output", `{"terminal_id":"$TERM","screen":true,"wait_for":{"pattern":"[$#] $","since":"start"}}`},
	{"terminal_send_input", `{"terminal_id":"$TERM","input":"rm -rf .git","execute":true}`},
	{"terminal_send_input", `{"terminal_id":"$TERM","input":"seq 100 | less","execute":true}`},
	{"terminal_get_output", `{"terminal_id":"$TERM","screen":true,"include_foreground_process":true,"wait_for":{"pattern":"^:"}}`},
	{"terminal_send_input", `{"terminal_id":"$TERM","input":"G","send_to":"less"}`},
	{"terminal_get_output", `{"terminal_id":"$TERM","screen":true,"wait_for":{"pattern":"^100$"}}`},
	{"terminal_send_input", `{"terminal_id":"$TERM","input":"q"}`},
	{"terminal_get_output", `{"terminal_id":"$TERM","screen":true,"wait_for":{"pattern":"[$#] $"}}`},
	{"terminal_close", `{"terminal_id":"$TERM","save_history":false}`},
}

func TestTheReadmeShowsASessionAsItIs(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	var b strings.Builder
	b.WriteString("```\n")
	id := ""
	for _, call := range session {
		r := c.Call(call.tool, strings.ReplaceAll(call.args, "$TERM", id))
		var e execution
		if r.Decode(&e) == nil && e.Terminal != "" {
			id = e.Terminal
		}
		if r.IsError != strings.Contains(call.args, "rm -rf") {
			t.Fatalf("%s %s: %s", call.tool, call.args, r.Text)
		}
		fmt.Fprintf(&b, "> %s %s\n%s\n", call.tool, call.args, strings.TrimRight(r.Text, "\n"))
	}
	b.WriteString("```\n")
	text := strings.NewReplacer("$TERM", "term_…", id, "term_…", h.dir, "/home/you/project").Replace(b.String())
	text = regexp.MustCompile(`pid \d+`).ReplaceAllString(text, "pid 4711")
	text = regexp.MustCompile(`bash-[0-9.]+[$#]`).ReplaceAllString(text, "$$")
	mcptest.Sections(t, "README.md", map[string]string{"session": text})
}
