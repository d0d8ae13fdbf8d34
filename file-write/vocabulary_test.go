//go:build linux || darwin

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// serve is a server of one vocabulary over a literal fixture.
func serve(t *testing.T, vocabulary string, o confine.Options, entries ...string) (*toolkit.Server, fixture) {
	t.Helper()
	w := worldWith(t, o, nil, nil, entries...)
	for _, v := range everyVocabulary(w.writer) {
		if v.Name == vocabulary {
			s, err := toolkit.NewServer(toolkit.Config{Name: "file-write", Version: "test", Vocabulary: v})
			if err != nil {
				t.Fatal(err)
			}
			return s, w
		}
	}
	t.Fatalf("there is no vocabulary %s", vocabulary)
	return nil, w
}

// said is the one text block of a result.
func said(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d blocks", len(r.Content))
	}
	return r.Content[0].(mcp.TextContent).Text
}

func structured(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	b, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// calls has a success and a failure for every tool of every vocabulary, in the order
// in which they are made on one fixture.
var calls = map[string][]struct{ tool, good, bad string }{
	"standard": {
		{"file_write", `{"path":"new/a.txt","content":"one\n"}`, `{"path":"a.txt","content":"x"}`},
		{"edit_file", `{"path":"a.txt","old_string":"one","new_string":"1"}`, `{"path":"a.txt","old_string":"none","new_string":"1"}`},
		{"create_directory", `{"path":"d"}`, `{"path":"../d"}`},
		{"copy_file", `{"source":"a.txt","destination":"c.txt"}`, `{"source":"a.txt","destination":"b.txt"}`},
		{"move_file", `{"source":"c.txt","destination":"b.txt","overwrite":true}`, `{"source":"c.txt","destination":"e.txt"}`},
		{"list_allowed_directories", `{}`, `{"x":1}`},
		{"list_changes", `{}`, `{"since":"soon"}`},
		{"delete_file", `{"path":"a.txt"}`, `{"path":"a.txt"}`},
		{"restore_file", `{"change_id":"$LAST"}`, `{"change_id":"x"}`},
	},
	"local-file": {{"write_local_file", `{"file_path":"a.txt","content":"x"}`, `{"file_path":"run.sh","content":"x"}`}},
	"agent": {
		{"write_file", `{"path":"a.txt","content":"x"}`, `{"path":"../a.txt","content":"x"}`},
		{"edit_file", `{"path":"a.txt","old_string":"x","new_string":"y"}`, `{"path":"a.txt","old_string":"x","new_string":"y"}`},
	},
	"filesystem": {
		{"write_file", `{"path":"a.txt","content":"x"}`, `{"path":"none/a.txt","content":"x"}`},
		{"edit_file", `{"path":"a.txt","edits":[{"oldText":"x","newText":"y"}]}`, `{"path":"a.txt","edits":[{"oldText":"x","newText":"y"}]}`},
		{"create_directory", `{"path":"d"}`, `{"path":"../d"}`},
		{"move_file", `{"source":"a.txt","destination":"c.txt"}`, `{"source":"a.txt","destination":"c.txt"}`},
	},
}

func TestEverySuccessAndEveryFailureObeysItsSchema(t *testing.T) {
	for name, pairs := range calls {
		s, w := serve(t, name, confine.Options{}, "a.txt=one\ntwo\n", "b.txt=b")
		tools := map[string]toolkit.Tool{}
		for _, tool := range s.Tools() {
			mcptest.Schema(t, tool.InputSchema())
			tools[tool.Name] = tool
		}
		if len(tools) != len(pairs) {
			t.Errorf("%s has %d tools, the table %d", name, len(tools), len(pairs))
		}
		for _, c := range pairs {
			obeys := mcptest.Schema(t, tools[c.tool].OutputSchema())
			for i, args := range []string{c.good, c.bad} {
				args = strings.Replace(args, "$LAST", w.lastChange(), 1)
				r := s.Call(t.Context(), c.tool, json.RawMessage(args))
				if r.IsError != (i == 1) {
					t.Errorf("%s of %s with %s: isError is %t: %v", c.tool, name, args, r.IsError, r.Content)
				}
				if err := obeys([]byte(structured(t, r))); err != nil {
					t.Errorf("%s of %s with %s: %v", c.tool, name, args, err)
				}
			}
		}
	}
}

func TestLocalFileAnswersAsFastMCPDoes(t *testing.T) {
	s, w := serve(t, "local-file", confine.Options{}, "a.txt=old")
	for _, c := range []struct{ args, want, file, holds string }{
		{`{"file_path":"a.txt","content":"new"}`, "Overwrote a.txt (3 bytes).", "a.txt", "new"},
		{`{"file_path":"n/m/b.txt","content":"é"}`, "Created n/m/b.txt (2 bytes).", "n/m/b.txt", "é"},
	} {
		r := s.Call(t.Context(), "write_local_file", json.RawMessage(c.args))
		if r.IsError || said(t, r) != c.want || structured(t, r) != `{"result":"`+c.want+`"}` {
			t.Errorf("%s: %v", c.args, r)
		}
		w.holds(c.args, c.file, c.holds)
	}
	r := s.Call(t.Context(), "write_local_file", json.RawMessage(`{"file_path":"/etc/x","content":""}`))
	if !r.IsError || !strings.HasPrefix(said(t, r), "Error: SECURITY_002: ") {
		t.Errorf("a failure is %q", said(t, r))
	}
}

func TestAgentTakesRelativePathsOnlyAndHidesOthers(t *testing.T) {
	s, w := serve(t, "agent", confine.Options{RelativeOnly: true, HidePaths: true}, "a.txt=one")
	for _, path := range []string{w.dir + "/a.txt", "x/../a.txt", "../x", "/etc/passwd", "~/x", "file:///etc/passwd"} {
		for tool, args := range map[string]string{
			"write_file": `{"path":"` + path + `","content":"x"}`,
			"edit_file":  `{"path":"` + path + `","old_string":"one","new_string":"x"}`,
		} {
			r := s.Call(t.Context(), tool, json.RawMessage(args))
			words := said(t, r)
			if !r.IsError || strings.Contains(strings.ReplaceAll(words, path, ""), w.dir) {
				t.Errorf("%s of %s: %s", tool, path, words)
			}
		}
	}
	w.holds("afterwards", "a.txt", "one")
}

func TestTheFolderOfAnAgentIsOfTheDayAndTheUser(t *testing.T) {
	dir := mcptest.Tree(t, "keep.txt=x")
	c := mcptest.Start(t, "file-write", "--allow-path", dir, "--vocabulary", "agent", "--user-id", "ada", "--audit-log", "stderr", "--history", t.TempDir())
	r := c.Call("write_file", map[string]any{"path": "notes/a.txt", "content": "one"})
	path, ok := strings.CutPrefix(r.Text, "Created output/")
	if r.IsError || !ok || !strings.Contains(path, "/user_ada/notes/a.txt (3 bytes).") {
		t.Fatalf("told is %q", r.Text)
	}
	told := "output/" + strings.TrimSuffix(path, " (3 bytes).")
	for _, name := range []string{"notes/a.txt", told} {
		r = c.Call("edit_file", map[string]any{"path": name, "old_string": "one", "new_string": "one"})
		if r.Code != "PARAM_002" {
			t.Errorf("%s is not found again: %s", name, r.Text)
		}
	}
	for _, name := range []string{"../../../keep.txt", "/" + dir + "/keep.txt", "output/../keep.txt"} {
		if r := c.Call("write_file", map[string]any{"path": name, "content": "x"}); !r.IsError {
			t.Errorf("%s is written", name)
		}
	}
}
