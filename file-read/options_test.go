package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestClientRootsNarrowAndNeverWiden(t *testing.T) {
	dir := mcptest.Tree(t, "project/a.txt=a\n", "other/b.txt=b\n")
	outside := mcptest.Tree(t, "c.txt=c\n")
	var roots atomic.Pointer[[]string]
	roots.Store(&[]string{"file://" + dir + "/project", "file://" + outside})
	options := mcptest.Options{
		Capabilities: map[string]any{"roots": map[string]any{"listChanged": true}},
		Answer: func(method string, _ json.RawMessage) (any, *mcptest.Error) {
			var list []map[string]string
			for _, r := range *roots.Load() {
				list = append(list, map[string]string{"uri": r})
			}
			return map[string]any{"roots": list}, nil
		},
	}
	server := options.Start(t, "file-read", "--allow-path", dir, "--follow-roots", "--audit-log", "off")
	read := func(path string) string {
		r := server.Call("file_read", map[string]any{"path": path})
		if r.IsError {
			return r.Code
		}
		return r.Text
	}
	for _, c := range []struct{ what, path, want string }{
		{"in a root of the client, at the first call", dir + "/project/a.txt", "a\n"},
		{"allowed, but in no root", dir + "/other/b.txt", "SECURITY_002"},
		{"in a root that is not allowed", outside + "/c.txt", "SECURITY_002"},
	} {
		if got := read(c.path); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	roots.Store(&[]string{"file://" + dir + "/other"})
	server.Notify("notifications/roots/list_changed", nil)
	if got := read(dir + "/other/b.txt"); got != "b\n" {
		t.Errorf("after the roots have changed: %q", got)
	}
	if got := read(dir + "/project/a.txt"); got != "SECURITY_002" {
		t.Errorf("what is no root any more: %q", got)
	}
}

func TestOptionsChangeWhatIsOffered(t *testing.T) {
	dir := mcptest.Tree(t, "a.txt=a\n", ".env=KEY\n", "sub/b.txt=b\n", "in => a.txt", "out => /etc/passwd", "secret/c.txt=c\n")
	for _, c := range []struct {
		what, tool, args string
		flags            []string
		want             string // the text, or the code of a refusal
	}{
		{"a link inside, followed", "file_read", `{"path":"in"}`, []string{"--symlinks", "within"}, "a\n"},
		{"a link that leads out, not even then", "file_read", `{"path":"out"}`, []string{"--symlinks", "within"}, "SECURITY_002"},
		{"a denied directory", "file_read", `{"path":"secret/c.txt"}`, []string{"--deny-path", "secret/**"}, "SECURITY_002"},
		{"secrets, denied", "file_read", `{"path":".env"}`, []string{"--deny-secrets"}, "SECURITY_002"},
		{"secrets, not denied", "file_read", `{"path":".env"}`, nil, "KEY\n"},
		{"a tool of a toolset", "file_read", `{"path":"a.txt"}`, []string{"--toolsets", "read"}, "a\n"},
		{"a tool of another", "list_directory", `{"dir_path":"."}`, []string{"--toolsets", "read"}, "-32602"},
		{"a tool of another vocabulary", "read_text_file", `{"path":"a.txt"}`, nil, "-32602"},
		{"in its own", "read_text_file", `{"path":"a.txt"}`, []string{"--vocabulary", "filesystem"}, "a\n"},
		{"an absolute path under agent", "read_file", `{"path":"` + dir + `/a.txt"}`, []string{"--vocabulary", "agent"}, "SECURITY_002"},
	} {
		server := mcptest.Start(t, "file-read", append(c.flags, "--allow-path", dir, "--audit-log", "off")...)
		r := server.Call(c.tool, c.args)
		got := r.Text
		if r.IsError {
			got = r.Code
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.what, got, c.want, r.Text)
		}
		server.Close()
	}
}

func TestTextOnlyHasNoStructure(t *testing.T) {
	dir := mcptest.Tree(t, "a.txt=a\n")
	server := mcptest.Start(t, "file-read", "--allow-path", dir, "--results", "text", "--audit-log", "off")
	if list := server.Result("tools/list", map[string]any{}); strings.Contains(string(list), "outputSchema") {
		t.Error("an output schema is promised")
	}
	for _, path := range []string{"a.txt", "nothing"} {
		if r := server.Call("file_read", map[string]any{"path": path}); r.Structured != nil || r.Text == "" {
			t.Errorf("%s: %s", path, r.Raw)
		}
	}
}

func TestAnAgentHasTenCallsAMinute(t *testing.T) {
	dir := mcptest.Tree(t, "a.txt=a\n")
	server := mcptest.Start(t, "file-read", "--allow-path", dir, "--vocabulary", "agent", "--audit-log", "off")
	for i := range 10 {
		if r := server.Call("read_file", `{"path":"a.txt"}`); r.IsError {
			t.Fatalf("call %d: %s", i+1, r.Text)
		}
	}
	r := server.Call("read_file", `{"path":"a.txt"}`)
	var failure struct {
		Error struct {
			Details struct {
				Retry float64 `json:"retry_after_seconds"`
			}
		}
	}
	if err := r.Decode(&failure); err != nil || r.Code != "RESOURCE_005" || failure.Error.Details.Retry <= 0 {
		t.Errorf("the eleventh call: %s %s", r.Code, r.Structured)
	}
}

func TestFilesAreResources(t *testing.T) {
	dir := mcptest.Tree(t, "a.txt=a\n", "b c.txt=b\n", "bin=\x00\x01\x02\x03", "sub/")
	for _, era := range mcptest.Eras() {
		server := mcptest.Options{Era: era}.Start(t, "file-read", "--allow-path", dir, "--audit-log", "off")
		for _, c := range []struct {
			what, uri, text string
			code            int
		}{
			{"a file", "file://" + dir + "/a.txt", "a\n", 0},
			{"with an encoded name", "file://" + dir + "/b%20c.txt", "b\n", 0},
			{"what is not there", "file://" + dir + "/nothing", "", -32602},
			{"what is outside", "file:///etc/passwd", "", -32602},
			{"a binary", "file://" + dir + "/bin", "", -32602},
		} {
			m := server.Request("resources/read", map[string]any{"uri": c.uri})
			switch {
			case c.code == 0 && (m.Error != nil || !strings.Contains(string(m.Result), fmt.Sprintf(`"text":%q`, c.text))):
				t.Errorf("%s, %s: %s %v", era, c.what, m.Result, m.Error)
			case c.code != 0 && (m.Error == nil || m.Error.Code != c.code || !strings.Contains(string(m.Error.Data), `"uri":`)):
				t.Errorf("%s, %s: %s %v", era, c.what, m.Result, m.Error)
			}
		}
		got := completions(t, server, strings.TrimPrefix(dir, "/")+"/")
		want := []string{"a.txt", "b c.txt", "bin", "sub/"}
		for i := range want {
			want[i] = strings.TrimPrefix(dir, "/") + "/" + want[i]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: completions: %s", era, d)
		}
		if got := completions(t, server, "etc/pass"); len(got) != 0 {
			t.Errorf("%s: completions outside: %v", era, got)
		}
	}
}

func completions(t *testing.T, server *mcptest.Client, prefix string) []string {
	t.Helper()
	var out struct {
		Completion struct{ Values []string }
	}
	result := server.Result("completion/complete", map[string]any{
		"ref":      map[string]any{"type": "ref/resource", "uri": "file:///{+path}"},
		"argument": map[string]any{"name": "path", "value": prefix},
	})
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatal(err)
	}
	return out.Completion.Values
}
