package hosts_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/hosts"
)

func TestTakingOutLeavesCommentsOfTheirOwn(t *testing.T) {
	const ours = `"file-read": {"command": "file-read"}`
	for _, c := range []struct{ what, host, file, text, want string }{
		{"a comment above stays", "cursor", "x.json", "{\"mcpServers\": {\n  // a\n  " + ours + ",\n  \"b\": 1\n}}", "{\"mcpServers\": {\n  // a\n  \"b\": 1\n}}"},
		{"a comment on its line goes", "cursor", "x.json", "{\"mcpServers\": {\n  \"b\": 1, // b\n  " + ours + ", // ours\n  \"c\": 1\n}}", "{\"mcpServers\": {\n  \"b\": 1, // b\n  \"c\": 1\n}}"},
		{"the first", "cursor", "x.json", "{\"mcpServers\": { " + ours + ", \"b\": 1 }}", "{\"mcpServers\": { \"b\": 1 }}"},
		{"the last, with the comma before it", "cursor", "x.json", "{\"mcpServers\": {\"b\": 1 /* b */ , " + ours + " }}", "{\"mcpServers\": {\"b\": 1 /* b */  }}"},
		{"the only one", "cursor", "x.json", "{\"mcpServers\": {\n  " + ours + "\n}}", "{\"mcpServers\": {}}"},
		{"a comment within it goes", "goose", "x.yaml", "extensions:\n  # a\n  file-read:\n    # b\n    cmd: file-read\n    # c\n  # d\n  other: 1\n", "extensions:\n  # a\n  # d\n  other: 1\n"},
		{"the only one of a block", "goose", "x.yaml", "extensions:\n  file-read:\n    cmd: file-read\na: 1\n", "extensions: {}\na: 1\n"},
		{"the first line of all", "goose", "x.yaml", "extensions: {file-read: {cmd: file-read}, a: 1}\n", "extensions: {a: 1}\n"},
		{"an element of a list", "continue", "x.yaml", "mcpServers:\n  - name: file-read\n    command: file-read\n  # a\n  - name: b\n", "mcpServers:\n  # a\n  - name: b\n"},
		{"tables apart, with what lies beneath", "codex", "x.toml", "[mcp_servers.file-read]\ncommand = 'file-read'\n\n[a]\nb = 1\n\n# env\n[mcp_servers.file-read.env]\nc = 'd' # e\n\n# f\n", "[a]\nb = 1\n\n# env\n\n# f\n"},
		{"a table within the line", "codex", "x.toml", "[mcp_servers]\na = {}\nfile-read = { command = 'file-read' }\nb = {}\n", "[mcp_servers]\na = {}\nb = {}\n"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := string(take(t, host(t, c.host), c.file, []byte(c.text))); got != c.want {
				t.Errorf("got\n%q, want\n%q", got, c.want)
			}
		})
	}
}

func TestNewValuesKeepWhatStandsBesideThem(t *testing.T) {
	for _, c := range []struct{ host, file, text, want string }{
		{"goose", "x.yaml",
			"extensions:\n  file-read:\n    args:\n    - --allow-path\n    - /old\n    bundled: null # b\n    cmd: /old/file-read\n    enabled: true\n    envs: {A: b}\n    name: file-read\n    timeout: 300\n    type: stdio\n  z: 1\n",
			"extensions:\n  file-read:\n    args: [\"--allow-path\", \"/home/ada/project\"]\n    bundled: null # b\n    cmd: \"/home/ada/bin/file-read\"\n    enabled: true\n    envs: {A: b}\n    name: file-read\n    timeout: 300\n    type: stdio\n  z: 1\n"},
		{"codex", "x.toml",
			"[mcp_servers.file-read] # mine\ncommand = '/old/file-read' # c\nenabled = true\n[mcp_servers.file-read.env]\nA = 'b'\n",
			"[mcp_servers.file-read] # mine\ncommand = \"/home/ada/bin/file-read\" # c\nenabled = true\nargs = [\"--allow-path\", \"/home/ada/project\"]\n[mcp_servers.file-read.env]\nA = 'b'\n"},
		{"continue", "x.yaml",
			"mcpServers:\n  - name: file-read\n    command: /old/file-read\n    env:\n      A: b\n",
			"mcpServers:\n  - name: file-read\n    command: \"/home/ada/bin/file-read\"\n    env:\n      A: b\n    type: \"stdio\"\n    args: [\"--allow-path\", \"/home/ada/project\"]\n"},
		{"mcphost", "x.yml", "mcpServers: {file-read: {type: local, command: [/old/file-read], environment: {A: b}}}\n",
			"mcpServers: {file-read: {type: local, command: [\"/home/ada/bin/file-read\", \"--allow-path\", \"/home/ada/project\"], environment: {A: b}}}\n"},
	} {
		h := host(t, c.host)
		got := string(put(t, h, c.file, []byte(c.text)))
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.host, got, c.want)
		}
		if again := string(put(t, h, c.file, []byte(got))); again != got {
			t.Errorf("%s: a second time made it\n%s", c.host, again)
		}
	}
}

func TestAForeignEntryIsReplacedWhollyWhereThatIsAsked(t *testing.T) {
	for _, c := range []struct{ host, file, text, want string }{
		{"cursor", "x.json", `{"mcpServers": {"file-read": {"url": "https://x"}, "b": 1}}`, `{"mcpServers": {"file-read": {"command": "/home/ada/bin/file-read", "args": ["--allow-path", "/home/ada/project"]}, "b": 1}}`},
		{"codex", "x.toml", "[mcp_servers.file-read]\nurl = 'https://x'\n[a]\n", "[a]\n\n[mcp_servers.file-read]\ncommand = \"/home/ada/bin/file-read\"\nargs = [\"--allow-path\", \"/home/ada/project\"]\n"},
		{"continue", "x.yaml", "mcpServers:\n- name: file-read\n  url: https://x\n- name: b\n", "mcpServers:\n- name: \"file-read\"\n  type: \"stdio\"\n  command: \"/home/ada/bin/file-read\"\n  args: [\"--allow-path\", \"/home/ada/project\"]\n- name: b\n"},
	} {
		d := parse(t, host(t, c.host), c.file, []byte(c.text))
		if _, err := d.Put(adas, false); !errors.Is(err, fault.Exists) {
			t.Errorf("%s: %v", c.host, err)
		}
		got, err := d.Put(adas, true)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", c.host, err, got, c.want)
		}
	}
}

func TestWhatCannotBeChangedSafelyIsRefused(t *testing.T) {
	for _, c := range []struct{ what, host, file, text, says string }{
		{"an anchor that is used elsewhere", "goose", "x.yaml", "extensions: &x\n  a: 1\nb: *x\n", "cannot be changed safely"},
		{"an alias", "goose", "x.yaml", "a: &x {b: 1}\nextensions: *x\n", "cannot"},
		{"two documents", "goose", "x.yaml", "a: 1\n---\nb: 1\n", "more than one document"},
		{"an inline table", "codex", "x.toml", "mcp_servers = {}\n", "cannot hold servers"},
		{"brackets without end", "cursor", "x.json", `{"a": ` + strings.Repeat("[/*]*/\"]\",", 20_000), "nested too deeply"},
		{"a list", "cursor", "x.json", `[]`, "cannot hold servers"},
		{"a line of TOML that is none", "codex", "x.toml", "a = 1\nb =\n", "does not parse: line 2, column 4: unexpected character"},
		{"a line of YAML that is none", "goose", "x.yaml", "a: 1\nb: [\n", "line"},
		{"a key twice in YAML", "goose", "x.yaml", "a: 1\na: 2\n", `does not parse: unmarshal errors: line 2: mapping key "a" already defined at line 1`},
	} {
		t.Run(c.what, func(t *testing.T) {
			d, err := host(t, c.host).Parse(c.file, []byte(c.text))
			if err == nil {
				_, err = d.Put(adas, false)
			}
			if !errors.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestEntriesAreReadAsEachHostWritesThem(t *testing.T) {
	for _, c := range []struct {
		host, file, text string
		want             hosts.Registered
	}{
		{"cursor", "x.json", `{"mcpServers": {"b": {"url": "https://x"}, "a": {"command": "c", "args": ["d"], "env": {"E": "f"}, "cwd": "/g", "disabled": true}}}`,
			hosts.Registered{Name: "a", Command: "c", Args: []string{"d"}, Env: map[string]string{"E": "f"}, Dir: "/g", Off: true}},
		{"goose", "x.yaml", "extensions: {a: {cmd: c, args: [d], envs: {E: f}, enabled: false}}", hosts.Registered{Name: "a", Command: "c", Args: []string{"d"}, Env: map[string]string{"E": "f"}, Off: true}},
		{"opencode", "x.json", `{"mcp": {"a": {"command": ["c", "d"], "environment": {"E": "f"}}}}`, hosts.Registered{Name: "a", Command: "c", Args: []string{"d"}, Env: map[string]string{"E": "f"}}},
		{"opencode", "x.json", `{"mcp": {"servers": {"a": {"command": ["c"]}}}}`, hosts.Registered{Name: "a", Command: "c", Args: []string{}}},
		{"opencode", "x.json", `{"mcp": {"servers": {"command": ["c"]}}}`, hosts.Registered{Name: "servers", Command: "c", Args: []string{}}},
		{"continue", "x.yaml", "mcpServers: [{name: a, command: c, args: [1]}]", hosts.Registered{Name: "a", Command: "c", Args: []string{"1"}}},
		{"codex", "x.toml", "[mcp_servers.a]\ncommand = 'c'\nenabled = false\n", hosts.Registered{Name: "a", Command: "c", Args: []string{}, Off: true}},
	} {
		got := parse(t, host(t, c.host), c.file, []byte(c.text)).Entries()
		if len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%s: got %+v, want %+v", c.host, got, c.want)
		}
	}
}

func TestAServerIsKnownByItsName(t *testing.T) {
	for command, want := range map[string]bool{
		"/opt/file-read": true, "file-read": true, `C:\Tools\file-read.exe`: true, `C:/Tools/FILE-READ.EXE`: true, "/this/one": true,
		"/opt/file-read-2": false, "/file-read/other": false, "": false, "npx": false,
	} {
		if got := (hosts.Registered{Command: command}).Is("file-read", "/this/one"); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
