package interop

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// The vocabulary filesystem stands in for @modelcontextprotocol/server-filesystem,
// so both are asked the same over the same tree.

func library(t *testing.T) string {
	return mcptest.Tree(t,
		"README.md=# Library\n\nThree lines.\n",
		"empty.txt=",
		"no-newline.txt=one\ntwo\nthree",
		"long.txt="+strings.Repeat("a line of the long file\n", 100),
		"日本語.txt=こんにちは\n",
		".hidden=dot\n",
		"pixel.png="+pixel(t),
		"blob.bin=\x00\x01\x02",
		"a-name-that-is-longer-than-thirty-characters.txt=x",
		"void/",
		"src/main.go=package main\n",
		"src/deep/er/est.go=package est\n",
		"src/deep/notes.txt=notes\n",
		"node_modules/left/pad.js=pad\n",
		"inside => README.md",
		"outside => /etc/passwd",
	)
}

// pixel is the smallest of pictures.
func pixel(t *testing.T) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// question is one call that both servers are asked; $ROOT is the directory.
type question struct{ name, tool, args string }

// same are the calls that both answer alike: the same text, the same structured
// content, or both a failure. The words of a failure are our own, for they carry
// the code and what to do.
var same = []question{
	{"a whole file", "read_text_file", `{"path": "$ROOT/README.md"}`},
	{"by its old name", "read_file", `{"path": "$ROOT/README.md"}`},
	{"by a relative path", "read_text_file", `{"path": "src/main.go"}`},
	{"an empty file", "read_text_file", `{"path": "$ROOT/empty.txt"}`},
	{"a file without a final newline", "read_text_file", `{"path": "$ROOT/no-newline.txt"}`},
	{"a name beyond ASCII", "read_text_file", `{"path": "$ROOT/日本語.txt"}`},
	{"the first lines", "read_text_file", `{"path": "$ROOT/long.txt", "head": 2}`},
	{"more first lines than there are", "read_text_file", `{"path": "$ROOT/README.md", "head": 50}`},
	{"the first lines of a file without a final newline", "read_text_file", `{"path": "$ROOT/no-newline.txt", "head": 3}`},
	{"no first lines are all", "read_text_file", `{"path": "$ROOT/README.md", "head": 0}`},
	{"the last lines of a file without a final newline", "read_text_file", `{"path": "$ROOT/no-newline.txt", "tail": 2}`},
	{"more last lines than there are", "read_text_file", `{"path": "$ROOT/no-newline.txt", "tail": 50}`},
	{"the last lines of an empty file", "read_text_file", `{"path": "$ROOT/empty.txt", "tail": 2}`},
	{"first and last lines at once fail", "read_text_file", `{"path": "$ROOT/README.md", "head": 1, "tail": 1}`},
	{"a directory is no text", "read_text_file", `{"path": "$ROOT/src"}`},
	{"what is not there", "read_text_file", `{"path": "$ROOT/none"}`},
	{"what is outside", "read_text_file", `{"path": "/etc/passwd"}`},
	{"what climbs out", "read_text_file", `{"path": "$ROOT/../../etc/passwd"}`},
	{"a link that leads out", "read_text_file", `{"path": "$ROOT/outside"}`},
	{"a path with a detour", "read_text_file", `{"path": "$ROOT/src/../README.md"}`},
	{"a path with a slash too many", "read_text_file", `{"path": "$ROOT//README.md"}`},
	{"a file as if it were a directory", "read_text_file", `{"path": "README.md/"}`},
	{"lines that are no number", "read_text_file", `{"path": "$ROOT/README.md", "head": "1"}`},
	{"a path that is missing", "read_text_file", `{}`},
	{"an image", "read_media_file", `{"path": "$ROOT/pixel.png"}`},
	{"what is neither image nor sound", "read_media_file", `{"path": "$ROOT/blob.bin"}`},
	{"several files", "read_multiple_files", `{"paths": ["$ROOT/README.md", "$ROOT/empty.txt", "src/main.go"]}`},
	{"no files", "read_multiple_files", `{"paths": []}`},
	{"a directory", "list_directory", `{"path": "$ROOT"}`},
	{"a directory by a relative path", "list_directory", `{"path": "src"}`},
	{"a link that leads out is no directory", "list_directory", `{"path": "$ROOT/outside"}`},
	{"an empty directory", "list_directory", `{"path": "$ROOT/void"}`},
	{"a file is no directory", "list_directory", `{"path": "$ROOT/README.md"}`},
	{"sizes", "list_directory_with_sizes", `{"path": "$ROOT/src"}`},
	{"sizes by size", "list_directory_with_sizes", `{"path": "$ROOT/src/deep", "sortBy": "size"}`},
	{"sizes of an empty directory", "list_directory_with_sizes", `{"path": "$ROOT/void"}`},
	{"sizes by something else fail", "list_directory_with_sizes", `{"path": "$ROOT/src", "sortBy": "colour"}`},
	{"a tree", "directory_tree", `{"path": "$ROOT"}`},
	{"the tree of an empty directory", "directory_tree", `{"path": "$ROOT/void"}`},
	{"a tree without a name", "directory_tree", `{"path": "$ROOT", "excludePatterns": ["node_modules"]}`},
	{"a tree without a name deep down", "directory_tree", `{"path": "$ROOT", "excludePatterns": ["er"]}`},
	{"a tree without a kind of file", "directory_tree", `{"path": "$ROOT", "excludePatterns": ["**/*.go"]}`},
	{"a tree without a directory's content", "directory_tree", `{"path": "$ROOT", "excludePatterns": ["node_modules/**"]}`},
	{"the tree of a file fails", "directory_tree", `{"path": "$ROOT/src/main.go"}`},
	{"a search at the top", "search_files", `{"path": "$ROOT", "pattern": "*.txt"}`},
	{"a search at any depth", "search_files", `{"path": "$ROOT", "pattern": "**/*.go"}`},
	{"a search for a directory", "search_files", `{"path": "$ROOT", "pattern": "**/deep"}`},
	{"a search beneath a directory, without itself", "search_files", `{"path": "$ROOT", "pattern": "src/**"}`},
	{"a search beneath any directory of a name", "search_files", `{"path": "$ROOT", "pattern": "**/deep/**"}`},
	{"a search in a directory by a relative path", "search_files", `{"path": "src", "pattern": "*"}`},
	{"a search with a class", "search_files", `{"path": "$ROOT", "pattern": "[a-e]*"}`},
	{"a search minds case", "search_files", `{"path": "$ROOT", "pattern": "*.TXT"}`},
	{"a search for hidden files", "search_files", `{"path": "$ROOT", "pattern": ".*"}`},
	{"a search for one of two", "search_files", `{"path": "$ROOT", "pattern": "**/*.{js,go}"}`},
	{"a search that leaves out a directory", "search_files", `{"path": "$ROOT", "pattern": "**/*.*", "excludePatterns": ["node_modules/**", "src/**"]}`},
	{"a search that finds nothing", "search_files", `{"path": "$ROOT", "pattern": "*.none"}`},
	{"the description of a file", "get_file_info", `{"path": "$ROOT/README.md"}`},
	{"the description of a directory", "get_file_info", `{"path": "$ROOT/src"}`},
	{"the directories", "list_allowed_directories", `{}`},
}

// different are the calls that ours answers otherwise on purpose, and why.
var different = []struct {
	question
	because string
}{
	{question{"a link that stays inside", "read_text_file", `{"path": "$ROOT/inside"}`},
		"links are refused unless --symlinks within is given"},
	{question{"the last lines of a file with a final newline", "read_text_file", `{"path": "$ROOT/long.txt", "tail": 2}`},
		"the reference takes the end of the file for a line of its own and is one line short"},
	{question{"half a line", "read_text_file", `{"path": "$ROOT/README.md", "head": 1.5}`},
		"a number of lines is a whole one"},
	{question{"fewer than no lines", "read_text_file", `{"path": "$ROOT/README.md", "head": -1}`},
		"it is refused, not answered with nothing"},
	{question{"a parameter that is null", "read_text_file", `{"path": "$ROOT/README.md", "head": null}`},
		"null is taken as not given, for many models write it so"},
	{question{"a file URI", "read_text_file", `{"path": "file://$ROOT/README.md"}`},
		"file URIs are paths too"},
	{question{"no path", "list_directory", `{"path": ""}`},
		"an empty path is a mistake, not the first directory"},
	{question{"the description of a link", "get_file_info", `{"path": "$ROOT/inside"}`},
		"links are refused unless --symlinks within is given"},
	{question{"a text as a medium", "read_media_file", `{"path": "$ROOT/README.md"}`},
		"the MIME type is that of the content, not of the name's ending"},
	{question{"sizes where there are links and capitals", "list_directory_with_sizes", `{"path": "$ROOT"}`},
		"names stand in the order of their bytes, as in list_directory, and links are not followed for a size"},
	{question{"a search where a link leads out", "search_files", `{"path": "$ROOT", "pattern": "o*"}`},
		"a link is an entry like any other, for it is never followed"},
	{question{"a search for what does not match", "search_files", `{"path": "$ROOT", "pattern": "!*.txt"}`},
		"globs are those of the other tools: without negation"},
	{question{"a search with an extended glob", "search_files", `{"path": "$ROOT", "pattern": "@(src|void)"}`},
		"globs are those of the other tools: {src,void} says it"},
	{question{"a search with a broken pattern", "search_files", `{"path": "$ROOT", "pattern": "*.{go"}`},
		"it is told, not taken to find nothing"},
	{question{"a binary as text", "read_text_file", `{"path": "$ROOT/blob.bin"}`},
		"the reference answers mangled bytes; ours says what the file is"},
	{question{"several files with a bad one among them", "read_multiple_files", `{"paths": ["$ROOT/README.md", "$ROOT/none"]}`},
		"the error within the text carries the code"},
	{question{"a parameter that nobody knows", "read_text_file", `{"path": "$ROOT/README.md", "lines": 2}`},
		"unknown parameters are refused, for a model that is not told goes on guessing"},
}

// side is one of the two servers and the directory that it is asked about.
type side struct {
	*mcptest.Client
	root string
}

// ask is the answer to a question, with $ROOT for the directory.
func (s side) ask(q question) answer {
	r := s.Call(q.tool, strings.ReplaceAll(q.args, "$ROOT", s.root))
	a := answer{Failed: r.IsError}
	if r.IsError {
		return a
	}
	a.Blocks = r.Blocks
	for i := range a.Blocks {
		a.Blocks[i].Text = strings.ReplaceAll(a.Blocks[i].Text, s.root, "$ROOT")
	}
	_ = json.Unmarshal(bytes.ReplaceAll(r.Structured, []byte(s.root), []byte("$ROOT")), &a.Structured)
	return a
}

// answer is what is compared of a result.
type answer struct {
	Failed     bool
	Blocks     []mcptest.Block
	Structured any
}

// both are the two servers.
type both struct{ ours, reference side }

// startBoth starts one of our servers and the reference, each over a directory.
func startBoth(t *testing.T, program, ours, reference string, flags ...string) both {
	line := onNode(t, "mcp-server-filesystem", reference)
	own := append(server(program, ours, "--vocabulary", "filesystem"), flags...)
	return both{
		side{mcptest.Start(t, own[0], own[1:]...), ours},
		side{mcptest.Start(t, line[0], line[1:]...), reference},
	}
}

func (b both) ask(q question) (ours, reference answer) { return b.ours.ask(q), b.reference.ask(q) }

func startReading(t *testing.T) both {
	root := library(t)
	return startBoth(t, "file-read", root, root)
}

func TestFilesystemAnswersAsTheReferenceDoes(t *testing.T) {
	b := startReading(t)
	for _, q := range same {
		t.Run(q.tool+" "+q.name, func(t *testing.T) {
			ours, reference := b.ask(q)
			if diff := cmp.Diff(reference, ours); diff != "" {
				t.Errorf("- the reference, + ours:\n%s", diff)
			}
		})
	}
}

func TestFilesystemDiffersWhereItMeansTo(t *testing.T) {
	b := startReading(t)
	for _, q := range different {
		t.Run(q.tool+" "+q.name, func(t *testing.T) {
			if ours, reference := b.ask(q.question); cmp.Equal(reference, ours) {
				t.Errorf("it does not differ any more (%s): %+v", q.because, ours)
			}
		})
	}
}

func TestFilesystemHasTheReferencesTools(t *testing.T) {
	for program, reads := range map[string]bool{"file-read": true, "file-write": false} {
		t.Run(program, func(t *testing.T) {
			root := library(t)
			b := startBoth(t, program, root, root)
			theirs := map[string]mcptest.Tool{}
			for _, tool := range b.reference.Tools() {
				if tool.Annotations["readOnlyHint"] == reads {
					theirs[tool.Name] = tool
				}
			}
			ours := b.ours.Tools()
			if want, got := slices.Sorted(maps.Keys(theirs)), slices.Sorted(slices.Values(names(ours))); !slices.Equal(want, got) {
				t.Errorf("the tools are %v, not %v", got, want)
			}
			for _, tool := range ours {
				if diff := cmp.Diff(lookOf(t, theirs[tool.Name]), lookOf(t, tool)); diff != "" {
					t.Errorf("%s (- the reference, + ours):\n%s", tool.Name, diff)
				}
			}
		})
	}
}

// look is what a client goes by. The output is not compared: ours may also be an error.
type look struct {
	Title string
	Hints map[string]any
	Input params
}

func lookOf(t *testing.T, tool mcptest.Tool) look {
	t.Helper()
	return look{tool.Title, tool.Annotations, paramsOf(t, tool.InputSchema)}
}

// params are the names of a tool's parameters and which of them are required.
type params struct{ Names, Required []string }

func paramsOf(t *testing.T, schema json.RawMessage) params {
	t.Helper()
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	slices.Sort(s.Required)
	return params{slices.Sorted(maps.Keys(s.Properties)), s.Required}
}
