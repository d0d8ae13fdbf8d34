package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// serve is a server of one vocabulary over a literal fixture.
func serve(t *testing.T, vocabulary string, o confine.Options, entries ...string) (*toolkit.Server, string) {
	t.Helper()
	dir := mcptest.Tree(t, entries...)
	r := readerOn(t, dir, o)
	if vocabulary == "filesystem" {
		r.media = []string{"*/*"}
	}
	for _, v := range everyVocabulary(r) {
		if v.Name == vocabulary {
			s, err := toolkit.NewServer(toolkit.Config{Name: "file-read", Version: "test", Vocabulary: v, Resources: resources(r)})
			if err != nil {
				t.Fatal(err)
			}
			return s, dir
		}
	}
	t.Fatalf("there is no vocabulary %s", vocabulary)
	return nil, ""
}

// blocks are the texts of a result.
func blocks(r *mcp.CallToolResult) []string {
	out := []string{}
	for _, c := range r.Content {
		if text, ok := c.(mcp.TextContent); ok {
			out = append(out, text.Text)
		}
	}
	return out
}

func structured(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	b, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLocalFileAnswersAsFastMCPDoes(t *testing.T) {
	s, dir := serve(t, "local-file", confine.Options{}, ".gitignore=b.py\n", ".git/HEAD=x", "a.py=import os\nprint(1)\n", "b.py=import sys\n", "sub/c.py=import os\n")
	for _, c := range []struct{ what, tool, args, structured string }{
		{"a str", "read_local_file", `{"file_path":"a.py"}`, `{"result":"import os\nprint(1)\n"}`},
		{"a list of names", "list_directory", `{"dir_path":"` + dir + `"}`, `{"result":[".git",".gitignore","a.py","b.py","sub"]}`},
		{"a list of paths, ignored ones too", "find_files_by_pattern", `{"base_dir":".","pattern":"*.py"}`, `{"result":["a.py","b.py"]}`},
		{"recursively", "find_files_by_pattern", `{"base_dir":".","pattern":"*.py","recursive":true}`, `{"result":["a.py","b.py","sub/c.py"]}`},
		{"lines", "search_content_in_files", `{"search_path":".","regex_pattern":"^import","recursive":true,"max_results":2}`, `{"result":["a.py:1:import os","b.py:1:import sys"]}`},
		{"nothing", "find_files_by_pattern", `{"base_dir":".","pattern":"*.rs"}`, `{"result":[]}`},
	} {
		r := s.Call(context.Background(), c.tool, json.RawMessage(c.args))
		if got := structured(t, r); r.IsError || got != c.structured {
			t.Errorf("%s: %s, want %s", c.what, got, c.structured)
		}
	}
	r := s.Call(context.Background(), "find_files_by_pattern", json.RawMessage(`{"base_dir":".","pattern":"*.py"}`))
	if d := cmp.Diff([]string{"a.py", "b.py"}, blocks(r)); d != "" {
		t.Errorf("a list is not one block an element: %s", d)
	}
	r = s.Call(context.Background(), "read_local_file", json.RawMessage(`{"file_path":"/etc/passwd"}`))
	if text := blocks(r)[0]; !r.IsError || !strings.HasPrefix(text, "Error: SECURITY_002: ") {
		t.Errorf("a failure is %q", text)
	}
}

func TestAgentTakesRelativePathsOnlyAndHidesOthers(t *testing.T) {
	s, dir := serve(t, "agent", confine.Options{RelativeOnly: true, HidePaths: true}, "file1.txt=TODO: one\n", "file2.py=# TODO two\n", "dir1/x.rs=// TODO three\n", "dir2/")
	for _, c := range []struct{ what, tool, args, text string }{
		{"a file", "read_file", `{"path":"file1.txt"}`, "TODO: one\n"},
		{"a listing", "list_files", `{}`, "Directories:\n  dir1/\n  dir2/\n\nFiles:\n  file1.txt\n  file2.py\n"},
		{"a glob", "glob", `{"pattern":"**/*.rs"}`, "dir1/x.rs"},
		{"a grep", "grep", `{"pattern":"TODO","glob":"*.rs"}`, "dir1/x.rs:1:// TODO three\n[matching lines: 1, in 1 of 1 files searched]"},
	} {
		r := s.Call(context.Background(), c.tool, json.RawMessage(c.args))
		if got := blocks(r); r.IsError || got[0] != c.text {
			t.Errorf("%s: %q, want %q", c.what, got, c.text)
		}
	}
	for _, path := range []string{dir + "/file1.txt", "dir1/../file1.txt", "../x", "/etc/passwd", "missing.txt"} {
		r := s.Call(context.Background(), "read_file", json.RawMessage(`{"path":"`+path+`"}`))
		text := blocks(r)[0]
		if !r.IsError {
			t.Errorf("%s was read", path)
		}
		if strings.Contains(strings.ReplaceAll(text, path, ""), dir) {
			t.Errorf("%s: the text shows a path of the host: %s", path, text)
		}
	}
}

func TestFilesystemAnswersAsTheReferenceServerDoes(t *testing.T) {
	s, dir := serve(t, "filesystem", confine.Options{}, "a.txt=one\ntwo\nthree\n", "sub/b.md=# b", "sub/empty/", "pic.png=\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	for _, c := range []struct{ what, tool, args, text string }{
		{"a file", "read_text_file", `{"path":"a.txt"}`, "one\ntwo\nthree\n"},
		{"by its old name", "read_file", `{"path":"a.txt"}`, "one\ntwo\nthree\n"},
		{"its first lines", "read_text_file", `{"path":"a.txt","head":2}`, "one\ntwo"},
		{"more first lines than there are", "read_text_file", `{"path":"a.txt","head":9}`, "one\ntwo\nthree"},
		{"its last lines, not one less", "read_text_file", `{"path":"a.txt","tail":2}`, "two\nthree\n"},
		{"several", "read_multiple_files", `{"paths":["sub/b.md","a.txt"]}`, "sub/b.md:\n# b\n\n---\na.txt:\none\ntwo\nthree\n\n"},
		{"a listing", "list_directory", `{"path":"."}`, "[FILE] a.txt\n[FILE] pic.png\n[DIR] sub"},
		{"with sizes", "list_directory_with_sizes", `{"path":"sub"}`, "[FILE] b.md                                  3 B\n[DIR] empty                          \n\nTotal: 1 files, 1 directories\nCombined size: 3 B"},
		{"a tree", "directory_tree", `{"path":"sub"}`, "[\n  {\n    \"name\": \"b.md\",\n    \"type\": \"file\"\n  },\n  {\n    \"name\": \"empty\",\n    \"type\": \"directory\",\n    \"children\": []\n  }\n]"},
		{"found paths", "search_files", `{"path":".","pattern":"**/*.md"}`, dir + "/sub/b.md"},
		{"found without what is excluded", "search_files", `{"path":".","pattern":"**/*.md","excludePatterns":["sub"]}`, "No matches found"},
		{"the directories", "list_allowed_directories", `{}`, "Allowed directories:\n" + dir},
	} {
		r := s.Call(context.Background(), c.tool, json.RawMessage(c.args))
		if d := cmp.Diff(c.text, strings.Join(blocks(r), "")); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
	r := s.Call(context.Background(), "read_media_file", json.RawMessage(`{"path":"pic.png"}`))
	if image, ok := r.Content[0].(mcp.ImageContent); !ok || image.MIMEType != "image/png" {
		t.Errorf("a picture is %+v", r.Content)
	}
	if got := structured(t, r); !strings.HasPrefix(got, `{"content":[{"type":"image","data":"iVBORw0KGgo`) {
		t.Errorf("its structure is %s", got)
	}
	both := s.Call(context.Background(), "read_text_file", json.RawMessage(`{"path":"a.txt","head":1,"tail":1}`))
	if !both.IsError {
		t.Error("head and tail together were taken")
	}
}

func TestSizesAreWrittenAsTheReferenceServerWritesThem(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.00 KB", 1536: "1.50 KB", 1 << 20: "1.00 MB", 5 << 30: "5.00 GB", 3 << 50: "3072.00 TB"} {
		if got := formatSize(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
