//go:build linux || darwin

package interop

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// The writing tools of the vocabulary filesystem are asked the same as those of the
// reference, each server on its own copy of a tree, and not only the answers are
// compared but the trees that are left: content, mode, owner, names, time.

// scene is what both servers find for every question: the directory that they may
// write, and one that they may not.
func scene(t *testing.T) string {
	root := mcptest.Tree(t,
		"in/README.md=# Library\n\nThree lines.\n",
		"in/empty.txt=",
		"in/single.txt=only\n",
		"in/no-newline.txt=one\ntwo\nthree",
		"in/twice.txt=one\ntwo\nthree\ntwo\n",
		"in/long.txt="+counted(40),
		"in/ticks.md=Say:\n\n```go\nx := 1\n```\n",
		"in/fence.md=````\n```\ninner\n```\n````\n",
		"in/code.go=func main() {\n\tif x {\n\t\treturn\n\t}\n}\n",
		"in/crlf.txt=one\r\ntwo\r\nthree\r\n",
		"in/bom.txt=\ufeffone\ntwo\n",
		"in/sjis.txt=\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\n\x90\xa2\x8aE one\n",
		"in/utf16.txt=\xff\xfeo\x00n\x00e\x00\n\x00t\x00w\x00o\x00\n\x00",
		"in/pixel.png="+pixel(t),
		"in/日本語.txt=こんにちは\n世界\n",
		"in/caf\u00e9.txt=composed\n",
		"in/private.txt=one\n",
		"in/locked.txt=one\n",
		"in/tool.txt=one\n",
		"in/hard.txt=one\n",
		"in/void/",
		"in/src/main.go=package main\n",
		"in/src/deep/notes.txt=notes\n",
		"in/.bashrc=alias\n",
		"in/.git/config=[core]\n",
		"in/inside => README.md",
		"in/insidedir => src",
		"in/dangling => none.txt",
		"in/outside => ../out/secret.txt",
		"in/outdir => ../out",
		"in/newoutside => ../out/new.txt",
		"out/secret.txt=secret\n",
	)
	adorn(t, root)
	return root
}

// counted is so many lines that tell their number.
func counted(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// past is when everything in a scene was written.
var past = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// adorn gives files what cannot be said in a literal tree.
func adorn(t *testing.T, root string) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]fs.FileMode{"private.txt": 0o600, "locked.txt": 0o444, "tool.txt": 0o755} {
		check(os.Chmod(filepath.Join(root, "in", name), mode))
	}
	check(os.Link(filepath.Join(root, "in/hard.txt"), filepath.Join(root, "in/hard-too.txt")))
	check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, past, past)
	}))
}

// seen is a line about every entry that either server could reach: all that a change
// could spoil.
func seen(t *testing.T, root string) map[string]string {
	t.Helper()
	entries := map[string]string{}
	for _, part := range []string{"in", "out"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, path)
			entries[rel], err = traits(path, info)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return entries
}

func traits(path string, info fs.FileInfo) (string, error) {
	switch info.Mode().Type() {
	case fs.ModeDir:
		return info.Mode().String(), nil
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		return "link to " + target, err
	}
	content, err := os.ReadFile(path)
	age := "new"
	if info.ModTime().Equal(past) {
		age = "old"
	}
	return fmt.Sprintf("%s%s, %q", rights(path, info), age, content), err
}

// rights are what a change of the content must not change.
func rights(path string, info fs.FileInfo) string {
	system := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%v of %d:%d, %d names, %s", info.Mode(), system.Uid, system.Gid, system.Nlink, labels(path))
}

// sameWrites are answered alike and leave the same tree.
var sameWrites = []question{
	{"a new file", "write_file", `{"path": "$ROOT/new.txt", "content": "hello\n"}`},
	{"by a relative path", "write_file", `{"path": "src/new.txt", "content": "hello\n"}`},
	{"by a path with a detour", "write_file", `{"path": "$ROOT/src/../new.txt", "content": "hello\n"}`},
	{"by a path with a slash too many", "write_file", `{"path": "$ROOT//new.txt", "content": "hello\n"}`},
	{"over a file", "write_file", `{"path": "$ROOT/README.md", "content": "new\n"}`},
	{"nothing", "write_file", `{"path": "$ROOT/new.txt", "content": ""}`},
	{"nothing over a file", "write_file", `{"path": "$ROOT/README.md", "content": ""}`},
	{"over an empty file", "write_file", `{"path": "$ROOT/empty.txt", "content": "x"}`},
	{"beyond ASCII", "write_file", `{"path": "$ROOT/書.txt", "content": "世界 🌍 \u0000 e\u0301\n"}`},
	{"lines that end in CRLF", "write_file", `{"path": "$ROOT/new.txt", "content": "a\r\nb\r\n"}`},
	{"lines of a file with CRLF", "write_file", `{"path": "$ROOT/crlf.txt", "content": "a\nb\n"}`},
	{"a byte-order mark", "write_file", `{"path": "$ROOT/new.txt", "content": "\ufeffa\n"}`},
	{"a name in another normal form", "write_file", `{"path": "$ROOT/cafe\u0301.txt", "content": "x"}`},
	{"over a private file", "write_file", `{"path": "$ROOT/private.txt", "content": "new\n"}`},
	{"over a file with two names", "write_file", `{"path": "$ROOT/hard.txt", "content": "new\n"}`},
	{"where the directory is missing", "write_file", `{"path": "$ROOT/none/new.txt", "content": "x"}`},
	{"over a directory", "write_file", `{"path": "$ROOT/src", "content": "x"}`},
	{"over an empty directory", "write_file", `{"path": "$ROOT/void", "content": "x"}`},
	{"beneath a file", "write_file", `{"path": "$ROOT/README.md/new.txt", "content": "x"}`},
	{"outside", "write_file", `{"path": "$ROOT/../out/new.txt", "content": "x"}`},
	{"at the root", "write_file", `{"path": "/new.txt", "content": "x"}`},
	{"through a link that leads out", "write_file", `{"path": "$ROOT/outside", "content": "x"}`},
	{"through a directory link that leads out", "write_file", `{"path": "$ROOT/outdir/new.txt", "content": "x"}`},
	{"through a link to what is not there, outside", "write_file", `{"path": "$ROOT/newoutside", "content": "x"}`},
	{"through a link to what is not there", "write_file", `{"path": "$ROOT/dangling", "content": "x"}`},
	{"at an empty path", "write_file", `{"path": "", "content": "x"}`},
	{"without a path", "write_file", `{"content": "x"}`},
	{"without a content", "write_file", `{"path": "$ROOT/new.txt"}`},
	{"a number", "write_file", `{"path": "$ROOT/new.txt", "content": 1}`},
	{"null", "write_file", `{"path": "$ROOT/new.txt", "content": null}`},
	{"a name with a zero byte", "write_file", `{"path": "$ROOT/a\u0000b", "content": "x"}`},

	{"a line", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three lines.", "newText": "Four lines."}]}`},
	{"a word", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "3"}]}`},
	{"by a relative path", "edit_file", `{"path": "src/main.go", "edits": [{"oldText": "main", "newText": "other"}]}`},
	{"by a path with a detour", "edit_file", `{"path": "$ROOT/src/../README.md", "edits": [{"oldText": "Three", "newText": "3"}]}`},
	{"only shown", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "3"}], "dryRun": true}`},
	{"the only line", "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only", "newText": "one"}]}`},
	{"the only line into several", "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only", "newText": "one\ntwo"}]}`},
	{"all away", "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only\n", "newText": ""}]}`},
	{"the first line", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 1\n", "newText": "line one\n"}]}`},
	{"the last line", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 40", "newText": "line forty"}]}`},
	{"in the middle", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 20", "newText": "line twenty"}]}`},
	{"a line away", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 20\n", "newText": ""}]}`},
	{"a line more", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 20\n", "newText": "line 20\nline 20 and a half\n"}]}`},
	{"two places far apart", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 10\n", "newText": "line ten\n"}, {"oldText": "line 30\n", "newText": "line thirty\n"}]}`},
	{"two places whose contexts touch", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 10\n", "newText": "line ten\n"}, {"oldText": "line 19\n", "newText": "line nineteen\n"}]}`},
	{"two places whose contexts do not quite touch", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 10\n", "newText": "line ten\n"}, {"oldText": "line 20\n", "newText": "line twenty\n"}]}`},
	{"several neighbours", "edit_file", `{"path": "$ROOT/long.txt", "edits": [{"oldText": "line 10\nline 11\nline 12\n", "newText": "a\nline 11\nb\nc\n"}]}`},
	{"what the edit before left", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "Four"}, {"oldText": "Four lines", "newText": "Five lines"}]}`},
	{"a file without a final newline", "edit_file", `{"path": "$ROOT/no-newline.txt", "edits": [{"oldText": "one", "newText": "1"}]}`},
	{"the last line of a file without a final newline", "edit_file", `{"path": "$ROOT/no-newline.txt", "edits": [{"oldText": "three", "newText": "3"}]}`},
	{"a final newline that was missing", "edit_file", `{"path": "$ROOT/no-newline.txt", "edits": [{"oldText": "three", "newText": "three\n"}]}`},
	{"the final newline away", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "lines.\n", "newText": "lines."}]}`},
	{"backticks in the content", "edit_file", `{"path": "$ROOT/ticks.md", "edits": [{"oldText": "x := 1", "newText": "x := 2"}]}`},
	{"more backticks in the content", "edit_file", `{"path": "$ROOT/fence.md", "edits": [{"oldText": "inner", "newText": "outer"}]}`},
	{"backticks that come", "edit_file", "{\"path\": \"$ROOT/single.txt\", \"edits\": [{\"oldText\": \"only\", \"newText\": \"`````\"}]}"},
	{"nothing special in the new text", "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only", "newText": "$& $1 $$ \\1"}]}`},
	{"nothing special in the old text", "edit_file", `{"path": "$ROOT/code.go", "edits": [{"oldText": "main()", "newText": "run()"}]}`},
	{"beyond ASCII", "edit_file", `{"path": "$ROOT/日本語.txt", "edits": [{"oldText": "世界", "newText": "世间"}]}`},
	{"CRLF in the texts and not in the file", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "# Library\r\n\r\nThree", "newText": "# Books\r\n\r\nFour"}]}`},
	{"a file with a byte-order mark", "edit_file", `{"path": "$ROOT/bom.txt", "edits": [{"oldText": "two", "newText": "2"}]}`},
	{"a private file", "edit_file", `{"path": "$ROOT/private.txt", "edits": [{"oldText": "one", "newText": "1"}]}`},
	{"a file with two names", "edit_file", `{"path": "$ROOT/hard.txt", "edits": [{"oldText": "one", "newText": "1"}]}`},
	{"what does not match", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Seven", "newText": "7"}]}`},
	{"where the second does not match", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "3"}, {"oldText": "Seven", "newText": "7"}]}`},
	{"what matches in another case only", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "three", "newText": "3"}]}`},
	{"an empty file", "edit_file", `{"path": "$ROOT/empty.txt", "edits": [{"oldText": "a", "newText": "b"}]}`},
	{"a file that is missing", "edit_file", `{"path": "$ROOT/none.txt", "edits": [{"oldText": "a", "newText": "b"}]}`},
	{"a directory", "edit_file", `{"path": "$ROOT/src", "edits": [{"oldText": "a", "newText": "b"}]}`},
	{"what is outside", "edit_file", `{"path": "$ROOT/../out/secret.txt", "edits": [{"oldText": "secret", "newText": "x"}]}`},
	{"through a link that leads out", "edit_file", `{"path": "$ROOT/outside", "edits": [{"oldText": "secret", "newText": "x"}]}`},
	{"through a directory link that leads out", "edit_file", `{"path": "$ROOT/outdir/secret.txt", "edits": [{"oldText": "secret", "newText": "x"}]}`},
	{"without a path", "edit_file", `{"edits": [{"oldText": "a", "newText": "b"}]}`},
	{"without edits", "edit_file", `{"path": "$ROOT/README.md"}`},
	{"without an old text", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"newText": "b"}]}`},
	{"without a new text", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three"}]}`},
	{"an edit that is no object", "edit_file", `{"path": "$ROOT/README.md", "edits": ["Three"]}`},
	{"only shown, if a word were a yes", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "3"}], "dryRun": "perhaps"}`},

	{"a new one", "create_directory", `{"path": "$ROOT/new"}`},
	{"by a relative path", "create_directory", `{"path": "src/new"}`},
	{"with those above it", "create_directory", `{"path": "$ROOT/a/b/c"}`},
	{"with a slash behind it", "create_directory", `{"path": "$ROOT/new/"}`},
	{"beyond ASCII", "create_directory", `{"path": "$ROOT/新しい"}`},
	{"one that exists", "create_directory", `{"path": "$ROOT/src"}`},
	{"the allowed one", "create_directory", `{"path": "$ROOT"}`},
	{"where a file is", "create_directory", `{"path": "$ROOT/README.md"}`},
	{"beneath a file", "create_directory", `{"path": "$ROOT/README.md/new"}`},
	{"where a link is that leads out", "create_directory", `{"path": "$ROOT/outdir"}`},
	{"beneath a link that leads out", "create_directory", `{"path": "$ROOT/outdir/new"}`},
	{"where a link to what is not there is", "create_directory", `{"path": "$ROOT/dangling"}`},
	{"outside", "create_directory", `{"path": "$ROOT/../out/new"}`},
	{"without a path", "create_directory", `{}`},

	{"to a new name", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/read.me"}`},
	{"into a directory", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/src/README.md"}`},
	{"by relative paths", "move_file", `{"source": "src/main.go", "destination": "main.go"}`},
	{"a directory", "move_file", `{"source": "$ROOT/src", "destination": "$ROOT/void/src"}`},
	{"an empty directory", "move_file", `{"source": "$ROOT/void", "destination": "$ROOT/vide"}`},
	{"a private file", "move_file", `{"source": "$ROOT/private.txt", "destination": "$ROOT/moved.txt"}`},
	{"a read-only file", "move_file", `{"source": "$ROOT/locked.txt", "destination": "$ROOT/moved.txt"}`},
	{"a file with two names", "move_file", `{"source": "$ROOT/hard.txt", "destination": "$ROOT/moved.txt"}`},
	{"a binary", "move_file", `{"source": "$ROOT/pixel.png", "destination": "$ROOT/moved.png"}`},
	{"beyond ASCII", "move_file", `{"source": "$ROOT/日本語.txt", "destination": "$ROOT/本.txt"}`},
	{"a link to what is not there", "move_file", `{"source": "$ROOT/dangling", "destination": "$ROOT/moved"}`},
	{"onto a file", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/twice.txt"}`},
	{"onto a directory", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/src"}`},
	{"onto an empty directory", "move_file", `{"source": "$ROOT/src", "destination": "$ROOT/void"}`},
	{"onto a link", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/insidedir"}`},
	{"onto a link to what is not there", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/dangling"}`},
	{"onto itself", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/README.md"}`},
	{"onto another name of the same file", "move_file", `{"source": "$ROOT/hard.txt", "destination": "$ROOT/hard-too.txt"}`},
	{"what is missing", "move_file", `{"source": "$ROOT/none.txt", "destination": "$ROOT/moved.txt"}`},
	{"where the directory is missing", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/none/moved.txt"}`},
	{"beneath a file", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/single.txt/moved.txt"}`},
	{"a directory into itself", "move_file", `{"source": "$ROOT/src", "destination": "$ROOT/src/deep/src"}`},
	{"the allowed directory", "move_file", `{"source": "$ROOT", "destination": "$ROOT/moved"}`},
	{"from outside", "move_file", `{"source": "$ROOT/../out/secret.txt", "destination": "$ROOT/moved.txt"}`},
	{"to the outside", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/../out/moved.txt"}`},
	{"to the outside by a link", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/outdir/moved.txt"}`},
	{"from outside by a link", "move_file", `{"source": "$ROOT/outdir/secret.txt", "destination": "$ROOT/moved.txt"}`},
	{"a link that leads out", "move_file", `{"source": "$ROOT/outside", "destination": "$ROOT/moved.txt"}`},
	{"without a source", "move_file", `{"destination": "$ROOT/moved.txt"}`},
	{"without a destination", "move_file", `{"source": "$ROOT/README.md"}`},
}

// sameWithin are answered alike where --symlinks within is given.
var sameWithin = []question{
	{"through a link", "write_file", `{"path": "$ROOT/inside", "content": "x"}`},
	{"through a directory link", "write_file", `{"path": "$ROOT/insidedir/new.txt", "content": "x"}`},
	{"through a link that leads out", "write_file", `{"path": "$ROOT/outside", "content": "x"}`},
	{"through a link to what is not there, outside", "write_file", `{"path": "$ROOT/newoutside", "content": "x"}`},
	{"through a directory link that leads out", "write_file", `{"path": "$ROOT/outdir/new.txt", "content": "x"}`},
	{"through a link that leads out", "edit_file", `{"path": "$ROOT/outside", "edits": [{"oldText": "secret", "newText": "x"}]}`},
	{"where a link to one is", "create_directory", `{"path": "$ROOT/insidedir"}`},
	{"beneath a link to one", "create_directory", `{"path": "$ROOT/insidedir/new"}`},
	{"beneath a link that leads out", "create_directory", `{"path": "$ROOT/outdir/new"}`},
	{"through a directory link", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/insidedir/README.md"}`},
	{"from a directory link", "move_file", `{"source": "$ROOT/insidedir/main.go", "destination": "$ROOT/main.go"}`},
	{"through a directory link that leads out", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/outdir/README.md"}`},
}

// refused is what a file holds after ours has refused: the tree as it was.
const refused = ""

// difference is a call in which ours does something else on purpose: it refuses, or
// leaves an entry (name=content) as it should be.
type difference struct {
	question
	leaves  string
	because string
}

// differentWithin are the differences that are left where --symlinks within is given.
var differentWithin = []difference{
	{question{"through a link to what is not there", "write_file", `{"path": "$ROOT/dangling", "content": "x"}`},
		"none.txt=x", "the file that the link names is made"},
	{question{"through a link", "edit_file", `{"path": "$ROOT/inside", "edits": [{"oldText": "Three", "newText": "3"}]}`},
		"README.md=# Library\n\n3 lines.\n", "the difference is headed by the name that was asked for"},
	{question{"through a directory link", "edit_file", `{"path": "$ROOT/insidedir/main.go", "edits": [{"oldText": "main", "newText": "x"}]}`},
		"src/main.go=package x\n", "the difference is headed by the name that was asked for"},
	{question{"a link", "move_file", `{"source": "$ROOT/inside", "destination": "$ROOT/moved"}`},
		refused, "the reference moves what the link leads to and leaves the link behind"},
}

// differentWrites are all others.
var differentWrites = []difference{
	{question{"over a file with the executable bit", "write_file", `{"path": "$ROOT/tool.txt", "content": "new\n"}`},
		refused, "what can be run does not change, and does not get another name"},
	{question{"a file with the executable bit", "edit_file", `{"path": "$ROOT/tool.txt", "edits": [{"oldText": "one", "newText": "1"}]}`},
		refused, "what can be run does not change, and does not get another name"},
	{question{"a file with the executable bit", "move_file", `{"source": "$ROOT/tool.txt", "destination": "$ROOT/moved.txt"}`},
		refused, "what can be run does not change, and does not get another name"},
	{question{"what is there already", "write_file", `{"path": "$ROOT/single.txt", "content": "only\n"}`},
		"single.txt=only\n", "the file is left alone, with its time"},
	{question{"over a read-only file", "write_file", `{"path": "$ROOT/locked.txt", "content": "x"}`},
		refused, "who takes the right to write away means it"},
	{question{"over a file with a byte-order mark", "write_file", `{"path": "$ROOT/bom.txt", "content": "new\n"}`},
		"bom.txt=\ufeffnew\n", "the mark stays"},
	{question{"over a file in Shift_JIS", "write_file", `{"path": "$ROOT/sjis.txt", "content": "世界\n"}`},
		"sjis.txt=\x90\xa2\x8aE\n", "the encoding stays"},
	{question{"over a file in UTF-16", "write_file", `{"path": "$ROOT/utf16.txt", "content": "a"}`},
		"utf16.txt=\xff\xfea\x00", "the encoding stays"},
	{question{"half a character", "write_file", `{"path": "$ROOT/new.txt", "content": "a\ud800b\n"}`},
		refused, "it is told, not replaced by another"},
	{question{"through a link", "write_file", `{"path": "$ROOT/inside", "content": "x"}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"through a directory link", "write_file", `{"path": "$ROOT/insidedir/new.txt", "content": "x"}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"by a file URI", "write_file", `{"path": "file://$ROOT/new.txt", "content": "x"}`},
		"new.txt=x", "file URIs are paths too"},
	{question{"by a parameter that nobody knows", "write_file", `{"path": "$ROOT/new.txt", "content": "x", "mode": "0777"}`},
		refused, "a model that is not told goes on guessing"},
	{question{"a script by its content", "write_file", `{"path": "$ROOT/new.txt", "content": "#!/bin/sh\n"}`},
		refused, "programs are not written unless --allow-mime is given"},
	{question{"a script by its name", "write_file", `{"path": "$ROOT/new.sh", "content": "x\n"}`},
		refused, "programs are not written unless --allow-mime is given"},
	{question{"what a shell runs when it starts", "write_file", `{"path": "$ROOT/.bashrc", "content": "x\n"}`},
		refused, "paths that run code later are protected"},
	{question{"what git runs", "write_file", `{"path": "$ROOT/.git/config", "content": "x\n"}`},
		refused, "paths that run code later are protected"},

	{question{"two matches", "edit_file", `{"path": "$ROOT/twice.txt", "edits": [{"oldText": "two", "newText": "2"}]}`},
		refused, "the first is not taken for the one that is meant"},
	{question{"two matches, only shown", "edit_file", `{"path": "$ROOT/twice.txt", "edits": [{"oldText": "two", "newText": "2"}], "dryRun": true}`},
		refused, "the first is not taken for the one that is meant"},
	{question{"a match but for the indentation", "edit_file", `{"path": "$ROOT/code.go", "edits": [{"oldText": "if x {\n    return\n}", "newText": "if y {\n    return\n}"}]}`},
		refused, "no indentation is guessed"},
	{question{"a match but for a space at the end", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three lines. ", "newText": "Four lines."}]}`},
		refused, "what is merely alike is not taken"},
	{question{"an empty old text", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "", "newText": "x"}]}`},
		refused, "it does not say where"},
	{question{"an empty old text in an empty file", "edit_file", `{"path": "$ROOT/empty.txt", "edits": [{"oldText": "", "newText": "x"}]}`},
		refused, "it is no edit: write_file does that"},
	{question{"no edits", "edit_file", `{"path": "$ROOT/README.md", "edits": []}`},
		refused, "it does nothing, and the reference writes the file again"},
	{question{"an edit that changes nothing", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "Three"}]}`},
		refused, "it does nothing, and the reference writes the file again"},
	{question{"lines that end in CRLF", "edit_file", `{"path": "$ROOT/crlf.txt", "edits": [{"oldText": "two\nthree", "newText": "2\n3"}]}`},
		"crlf.txt=one\r\n2\r\n3\r\n", "every line end stays as it is, and the reference rewrites all of them"},
	{question{"a file in Shift_JIS", "edit_file", `{"path": "$ROOT/sjis.txt", "edits": [{"oldText": "こんにちは", "newText": "世界"}]}`},
		"sjis.txt=\x90\xa2\x8aE\n\x90\xa2\x8aE one\n", "the reference cannot read it"},
	{question{"the ASCII in a file in Shift_JIS", "edit_file", `{"path": "$ROOT/sjis.txt", "edits": [{"oldText": "one", "newText": "1"}]}`},
		"sjis.txt=\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\n\x90\xa2\x8aE 1\n", "the reference destroys all but the ASCII"},
	{question{"a file in UTF-16", "edit_file", `{"path": "$ROOT/utf16.txt", "edits": [{"oldText": "two", "newText": "2"}]}`},
		"utf16.txt=\xff\xfeo\x00n\x00e\x00\n\x002\x00\n\x00", "the reference cannot read it"},
	{question{"a binary", "edit_file", `{"path": "$ROOT/pixel.png", "edits": [{"oldText": "IHDR", "newText": "ihdr"}]}`},
		refused, "the reference mangles every byte that is no text"},
	{question{"a read-only file", "edit_file", `{"path": "$ROOT/locked.txt", "edits": [{"oldText": "one", "newText": "1"}]}`},
		refused, "who takes the right to write away means it"},
	{question{"a read-only file, only shown", "edit_file", `{"path": "$ROOT/locked.txt", "edits": [{"oldText": "one", "newText": "1"}], "dryRun": true}`},
		refused, "what is shown is what would happen"},
	{question{"through a link", "edit_file", `{"path": "$ROOT/inside", "edits": [{"oldText": "Three", "newText": "3"}]}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"through a directory link", "edit_file", `{"path": "$ROOT/insidedir/main.go", "edits": [{"oldText": "main", "newText": "x"}]}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"a name in another normal form", "edit_file", `{"path": "$ROOT/cafe\u0301.txt", "edits": [{"oldText": "composed", "newText": "x"}]}`},
		"caf\u00e9.txt=x\n", "the difference is headed by the name that was asked for"},
	{question{"what becomes a script", "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only", "newText": "#!/bin/sh"}]}`},
		refused, "programs are not written unless --allow-mime is given"},
	{question{"a protected file", "edit_file", `{"path": "$ROOT/.bashrc", "edits": [{"oldText": "alias", "newText": "x"}]}`},
		refused, "paths that run code later are protected"},
	{question{"by a parameter of another tool", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "3", "replaceAll": true}]}`},
		refused, "a model that is not told goes on guessing"},
	{question{"in earnest by null", "edit_file", `{"path": "$ROOT/README.md", "edits": [{"oldText": "Three", "newText": "3"}], "dryRun": null}`},
		"README.md=# Library\n\n3 lines.\n", "null is taken as not given, for many models write it so"},
	{question{"what takes more than a megabyte to show", "edit_file", `{"path": "$ROOT/single.txt", "edits": [{"oldText": "only\n", "newText": "` + strings.Repeat(`line\n`, 200_000) + `"}]}`},
		"single.txt=" + strings.Repeat("line\n", 200_000), "the difference ends after a megabyte"},

	{question{"where a link to one is", "create_directory", `{"path": "$ROOT/insidedir"}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"beneath a link to one", "create_directory", `{"path": "$ROOT/insidedir/new"}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"a protected one", "create_directory", `{"path": "$ROOT/.ssh"}`},
		refused, "paths that run code later are protected"},

	{question{"a link", "move_file", `{"source": "$ROOT/inside", "destination": "$ROOT/moved"}`},
		refused, "the reference moves what the link leads to and leaves the link behind"},
	{question{"through a directory link", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/insidedir/README.md"}`},
		refused, "links are refused unless --symlinks within is given"},
	{question{"to the name of a script", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/read.sh"}`},
		refused, "programs are not written unless --allow-mime is given"},
	{question{"to a protected path", "move_file", `{"source": "$ROOT/README.md", "destination": "$ROOT/.git/hooks"}`},
		refused, "paths that run code later are protected"},
	{question{"from a protected path", "move_file", `{"source": "$ROOT/.bashrc", "destination": "$ROOT/moved"}`},
		refused, "paths that run code later are protected"},
	{question{"a directory with a protected path in it", "move_file", `{"source": "$ROOT/.git", "destination": "$ROOT/moved"}`},
		refused, "paths that run code later are protected"},
}

// stage is where the scene is set again for each question: two directories that stay,
// for the servers hold them open.
type stage struct{ dir string }

func newStage(t *testing.T) stage { return stage{mcptest.Tree(t, "in/", "out/")} }

func (s stage) set(t *testing.T) {
	t.Helper()
	fresh := scene(t)
	for _, part := range []string{"in", "out"} {
		clearOut(t, filepath.Join(s.dir, part))
		entries, err := os.ReadDir(filepath.Join(fresh, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.Rename(filepath.Join(fresh, part, e.Name()), filepath.Join(s.dir, part, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func clearOut(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// performance is both servers on their stages.
type performance struct {
	both
	ourStage, theirStage stage
}

func startWriting(t *testing.T, flags ...string) performance {
	ours, reference := newStage(t), newStage(t)
	return performance{startBoth(t, "file-write", filepath.Join(ours.dir, "in"), filepath.Join(reference.dir, "in"), flags...), ours, reference}
}

// outcome is an answer and what there is afterwards.
type outcome struct {
	Answer answer
	Tree   map[string]string
}

func (p performance) play(t *testing.T, q question) (ours, reference outcome) {
	t.Helper()
	p.ourStage.set(t)
	p.theirStage.set(t)
	ours.Answer, reference.Answer = p.ask(q)
	ours.Tree, reference.Tree = seen(t, p.ourStage.dir), seen(t, p.theirStage.dir)
	return ours, reference
}

func TestFilesystemWritesAsTheReferenceDoes(t *testing.T) {
	startWriting(t).agree(t, sameWrites)
}

func TestFilesystemFollowsLinksAsTheReferenceDoesIfItMay(t *testing.T) {
	startWriting(t, "--symlinks", "within").agree(t, sameWithin)
}

// agree finds no difference in what both do.
func (p performance) agree(t *testing.T, questions []question) {
	for _, q := range questions {
		t.Run(q.tool+" "+q.name, func(t *testing.T) {
			ours, reference := p.play(t, q)
			if diff := cmp.Diff(reference, ours); diff != "" {
				t.Errorf("- the reference, + ours:\n%s", diff)
			}
		})
	}
}

func TestFilesystemWritesOtherwiseWhereItMeansTo(t *testing.T) {
	startWriting(t).differ(t, differentWrites)
}

func TestFilesystemFollowsLinksOtherwiseWhereItMeansTo(t *testing.T) {
	startWriting(t, "--symlinks", "within").differ(t, differentWithin)
}

// differ finds a difference each, and ours to be what was meant.
func (p performance) differ(t *testing.T, questions []difference) {
	p.ourStage.set(t)
	before := seen(t, p.ourStage.dir)
	for _, q := range questions {
		t.Run(q.tool+" "+q.name, func(t *testing.T) {
			ours, reference := p.play(t, q.question)
			if cmp.Equal(reference, ours) {
				t.Errorf("it does not differ any more (%s): %+v", q.because, ours)
			}
			if ours.Answer.Failed != (q.leaves == refused) {
				t.Errorf("ours fails: %t", ours.Answer.Failed)
			}
			if diff := cmp.Diff(before, ours.Tree); ours.Answer.Failed && diff != "" {
				t.Errorf("ours refuses, and changes something:\n%s", diff)
			}
			name, content, _ := strings.Cut(q.leaves, "=")
			if there := ours.Tree[filepath.Join("in", name)]; q.leaves != refused && !strings.HasSuffix(there, fmt.Sprintf(" %q", content)) {
				t.Errorf("ours leaves %s", there)
			}
		})
	}
}
