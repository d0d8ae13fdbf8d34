package hosts_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/multiollama/mcp-server/shared/hosts"
)

// one is a host of each language, and where it keeps servers.
var one = []struct {
	host, file, key string
	parse           func([]byte, any) error
}{
	{"cursor", "mcp.json", "mcpServers", json.Unmarshal},
	{"codex", "config.toml", "mcp_servers", toml.Unmarshal},
	{"goose", "config.yaml", "extensions", yaml.Unmarshal},
	{"continue", "config.yaml", "mcpServers", yaml.Unmarshal},
}

// odd are texts that a careless editor breaks, by language.
var odd = map[string][]string{
	"cursor": {
		`{}`, `{ }`, "{\n}", "{\n\n}", "{\r\n  \"mcpServers\": {}\r\n}", `{"mcpServers":{}}`, `{"mcpServers": { }}`, "{\"mcpServers\": {\n}}",
		"{\n \"mcpServers\": {\n\n }\n}", "{\n\t\"mcpServers\": {\t}\n}", "{\n  \"mcpServers\": {\n    \n  }}", "{\"mcpServers\": { // x  \n}\n}",
		"{\"mcpServers\": { /* x */ }}", "{\n\"mcpServers\": { /* x */ /* y\n */ }}", `{"mcpServers": {"a": 1}}`, `{"mcpServers": {"a": 1,}}`,
		`{"mcpServers": {"a": 1 /* x */, /* y */}}`, "{\"mcpServers\": {\"a\": 1 // x  \n, \"b\": 2 /* z */ // q\n}}", "{\"mcpServers\": {\n\"a\": 1 \t \n\n}}",
		"{\"mcpServers\": {\n  \"a\": 1 // x\n  // y\n}}", "{\"mcpServers\": {\n  \"a\": 1, // x\n  // y\n}}", "\ufeff{\"mcpServers\": {}}", `{"mcpServers": null}`, `{"mcpServers": []}`,
		`{"mcpServers": {}, "mcpServers": {}}`, `{"mcpServers": {"file-read": {"command": "file-read"}}}`, `[]`, `null`, "", " ", "\ufeff", "// x\n{}// y", `{"mcpS\u0065rvers": {}}`,
		"{\r\n\"mcpServers\": {\r\n\r\n}}", "{\r\n\"mcpServers\": {\n}}", "{\n\"mcpServers\": {\r\n}}", "{\"mcpServers\": {\r}}", "{\n\"a\": {}, \"mcpServers\":\n{\n}\n}",
	},
	"codex": {
		"", "\n", " ", "# x", "# x\n", "a = 1", "a = 1\n\n\n# x\n", "[mcp_servers]", "[mcp_servers]\n# x\n[a]\n", "[mcp_servers]\n# x\n\n[a]\n", "mcp_servers.a.command = 'x'\n", "mcp_servers = {}\n",
		"[mcp_servers.a]\r\nx = 1 # y\r\n\r\n[b]\r\n", "[[mcp_servers]]\n", "[[mcp_servers.a]]\n[[mcp_servers.a]]\nx=1\n", "  [ mcp_servers . \"a\" ]  # x\n  x = '''\n[mcp_servers.b]\n'''\n  # y\n\n", "[mcp_servers]\nfile-read = { command = 'file-read' }\n",
		"[mcp_servers.a]\nx = 1\n#y\n#z", "a = nan\nb = 1979-05-27T07:32:00Z\nc = 07:32:00\n", "[mcp_servers.a]\nx = [\n# [b]\n1,\n]\n", "\n[mcp_servers.a]\n\n\n\n", "\"mcp_servers\".a.b = 1\n[c]", "[a]\n[mcp_servers.x]\n[b]\n[mcp_servers.y]\n[c]\n",
	},
	"goose": {
		"", "\n", "# x", "# x\n", "---\n", "---\nextensions:\n", "extensions:", "extensions: {}", "extensions:  {}", "extensions: { }\n", "extensions: {a: 1}", "extensions: {a: 1,}", "extensions: {\n  a: 1\n}\n", "extensions: ~", "extensions: []",
		"extensions:\n  a: 1", "extensions:\n  a: 1\n", "extensions:\n  a: 1\n\n\n", "extensions:\n  a:\n   b: |\n    x\n\n    # y\n  # z\n   # q\nb: 1", "extensions:\n    a:\n    - 1\n    - 2\n# x\n", "extensions:\n  a: >-\n   x\n   y\n", "extensions:\r\n  a: 1\r\nb: 2\r\n",
		"extensions:\n  a: |+\n    x\n\n\nb: 1", "extensions: &x\n  a: 1\nb: *x\n", "a: &x {b: 1}\nextensions: *x\n", "extensions:\n  <<: {a: 1}\n", "{extensions: {}}", "{\"extensions\": {\"a\": \"it's\", b: it's}}", "a: 1\n---\nb: 1\n", "a: 1\n...\n", "extensions: !!map {}\n",
		"\"extensions\":\n  a: \"x\ny\"\n", "extensions: # x\n   # y\n  # z\nb: 1\n", " extensions:\n  a: 1\n b: 1\n", "extensions:\n  ? a\n  : 1\n", "extensions: {} # x\n  # y\n", "extensions:\n  file-read:\n    cmd: file-read\n", "extensions:\n  a: {b: [\n1]\n}\nc: 1\n", "a: .nan\n1: 2\n",
		"extensions:\n  a:\n    b: x\u2028y\n  c: 1\n", "extensions:\n  日本: {x: '日'}\n", "extensions: {日本: 語}\n", "extensions:\n\n\n  a: 1 # y\n", "\ufeffextensions:\n  a: 1\n",
	},
	"continue": {
		"mcpServers:\n  - name: a\n", "mcpServers:\n- name: a\nb: 1\n", "mcpServers: []\n", "mcpServers:\n", "mcpServers: [{name: a}]", "mcpServers:\n  -\n    name: a\n  -   name: b\n      x: 1\n", "mcpServers:\n  - - 1\n  - a\n", "mcpServers:\n  - name: a\n    b:\n    - 1\n    # x\n  # y\n# z\n", "name: x", "{name: x}", "mcpServers: {}\n", "- a\n",
		"mcpServers:\n  - name: file-read\n    command: file-read\n",
	},
}

func FuzzInstallThenUninstall(f *testing.F) {
	for i, o := range one {
		for _, text := range odd[o.host] {
			f.Add(byte(i), text)
		}
	}
	paths, _ := filepath.Glob("testdata/*.txtar")
	if len(paths) == 0 {
		f.Fatal("no stories")
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		o := one[int(which)%len(one)]
		holds(t, host(t, o.host), o.file, o.key, o.parse, []byte(text))
	})
}

// holds is the property: what parses is refused or gets the entry and nothing else, and
// is what it was when that is taken out again. A container that was not there, or
// held nothing, stays as an empty one; then the property holds from there on.
func holds(t *testing.T, h hosts.Host, file, key string, parser func([]byte, any) error, text []byte) (changed bool) {
	d, err := h.Parse(file, text)
	if err != nil {
		return false
	}
	with, err := d.Put(adas, false)
	if err != nil {
		return false
	}
	if has(d) {
		return true // it was there: what it becomes is for other tests
	}
	alike(t, parser, key, text, with)
	after := take(t, h, file, with)
	if bytes.Equal(after, text) {
		return true
	}
	var before map[string]any
	plain := bytes.TrimPrefix(text, []byte("\ufeff"))
	if parser(plain, &before) == nil && before[key] != nil {
		t.Fatalf("%q\nbecame %q\nand then %q", text, with, after)
	}
	again := take(t, h, file, put(t, h, file, after))
	if !bytes.Equal(again, after) {
		t.Fatalf("%q became %q, and then %q", text, after, again)
	}
	return true
}

func has(d hosts.Document) bool {
	for _, r := range d.Entries() {
		if r.Name == adas.Name {
			return true
		}
	}
	return false
}

// alike fails where with is not text with one more entry under key, for a parser
// that reads both.
func alike(t *testing.T, parser func([]byte, any) error, key string, text, with []byte) {
	t.Helper()
	var before, now map[string]any
	mark := []byte("\ufeff")
	if parser(bytes.TrimPrefix(text, mark), &before) != nil {
		return // comments, or nothing at all
	}
	if err := parser(bytes.TrimPrefix(with, mark), &now); err != nil {
		t.Fatalf("%v: %q became %q", err, text, with)
	}
	switch servers := now[key].(type) {
	case map[string]any:
		if servers[adas.Name] == nil {
			t.Fatalf("no entry in %q", with)
		}
		delete(servers, adas.Name)
		if len(servers) == 0 {
			delete(now, key)
		}
	case []any:
		now[key] = servers[:len(servers)-1]
		if len(servers) == 1 {
			delete(now, key)
		}
	default:
		t.Fatalf("no servers in %q", with)
	}
	if v := reflect.ValueOf(before[key]); !v.IsValid() || v.Len() == 0 {
		delete(before, key)
	}
	if len(before) == 0 && len(bytes.TrimSpace(bytes.TrimPrefix(text, mark))) == 0 {
		return // a new file has more than the entry
	}
	was, _ := yaml.Marshal(before)
	is, _ := yaml.Marshal(now)
	if !bytes.Equal(was, is) {
		t.Fatalf("%q\nbecame %q", text, with)
	}
}
