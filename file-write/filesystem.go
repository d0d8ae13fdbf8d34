package main

import (
	"context"
	"regexp"
	"strings"

	"github.com/multiollama/mcp-server/file-write/internal/diff"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabulary of @modelcontextprotocol/server-filesystem: names, parameters and
// result texts of its writing tools (version 2026.8). Where that server is wrong (it
// takes the first of two matches, rewrites CRLF, guesses indentation) ours refuses or
// does right; the README has the table of differences.

var (
	fsWriteSpec = toolkit.Spec{
		Name: "write_file", Title: "Write File", Toolset: "write", Effect: toolkit.Writes, Destructive: true, Idempotent: true,
		Doc: "Create a new file, or completely overwrite an existing one.",
	}
	fsEditSpec = toolkit.Spec{
		Name: "edit_file", Title: "Edit File", Toolset: "edit", Effect: toolkit.Writes, Destructive: true,
		Doc: "Replace text in a file, literally; each oldText has to stand there exactly once. Answers a git-style diff.",
	}
	fsDirectorySpec = toolkit.Spec{
		Name: "create_directory", Title: "Create Directory", Toolset: "manage", Effect: toolkit.Writes, Idempotent: true,
		Doc: "Make a directory and the directories above it that are missing. One that exists is no error.",
	}
	fsMoveSpec = toolkit.Spec{
		Name: "move_file", Title: "Move File", Toolset: "manage", Effect: toolkit.Writes, Destructive: true,
		Doc: "Move or rename a file or directory. If the destination exists, it fails.",
	}
)

// fsOut is the shape of all results: the text, twice.
type fsOut struct {
	Content string `json:"content"`
}

// Text is the content.
func (o fsOut) Text() string { return o.Content }

type fsWriteIn struct {
	Path    string `json:"path" path:"write"`
	Content string `json:"content" content:"true"`
}

func (w *writer) fsWrite(ctx context.Context, in fsWriteIn) (fsOut, error) {
	_, err := w.write(ctx, writeIn{Path: in.Path, Content: in.Content, Overwrite: true})
	return fsOut{"Successfully wrote to " + in.Path}, err
}

type fsEditIn struct {
	Path   string     `json:"path" path:"write"`
	Edits  []fsChange `json:"edits"`
	DryRun bool       `json:"dryRun,omitempty" default:"false" doc:"Preview changes using git-style diff format"`
}

type fsChange struct {
	Old string `json:"oldText" content:"true" doc:"Text to search for - must match exactly"`
	New string `json:"newText" content:"true" doc:"Text to replace with"`
}

// fsRange is the line that a hunk begins with; no line of a text begins like it.
var fsRange = regexp.MustCompile(`(?m)^@@ -\d+(,\d+)? \+\d+(,\d+)? @@$`)

// fsEdit returns a difference with the head, the four lines of context and the ranges of
// the npm package diff, as a Markdown block that nothing in it ends.
func (w *writer) fsEdit(ctx context.Context, in fsEditIn) (fsOut, error) {
	if len(in.Edits) == 0 {
		return fsOut{}, fault.New(fault.ParamInvalid, "there are no edits", "Give at least one")
	}
	edits := make([]editsItem, len(in.Edits))
	for i, e := range in.Edits {
		edits[i] = editsItem{Old: e.Old, New: e.New}
	}
	p, err := w.path(ctx, in.Path)
	if err != nil {
		return fsOut{}, err
	}
	out, err := w.edit(ctx, editIn{Path: in.Path, Edits: edits, DryRun: in.DryRun})
	if err != nil {
		return fsOut{}, err
	}

	const maxBytes = 1 << 20 // where the whole difference is the result
	body, cut := diff.Unified("a", "b", readable(out.enc, out.before), readable(out.enc, out.after), 4, maxBytes)
	if i := strings.Index(body, "@@"); i >= 0 {
		body = fsRange.ReplaceAllStringFunc(body[i:], func(line string) string {
			ranges := strings.Fields(line)
			for i, r := range ranges[1:3] {
				if !strings.Contains(r, ",") { // POSIX leaves out the count 1
					ranges[1+i] += ",1"
				}
			}
			return strings.Join(ranges, " ")
		})
	}
	name := text.Escape(p.Abs())
	body = "Index: " + name + "\n" + strings.Repeat("=", 67) + "\n--- " + name + "\toriginal\n+++ " + name + "\tmodified\n" + body
	if cut {
		body += cutNote
	}
	fence := "```"
	for strings.Contains(body, fence) {
		fence += "`"
	}
	return fsOut{fence + "diff\n" + body + fence + "\n\n"}, nil
}

type fsPathIn struct {
	Path string `json:"path" path:"write"`
}

func (w *writer) fsDirectory(ctx context.Context, in fsPathIn) (fsOut, error) {
	_, err := w.createDirectory(ctx, directoryIn(in))
	return fsOut{"Successfully created directory " + in.Path}, err
}

type fsMoveIn struct {
	Source      string `json:"source" path:"write"`
	Destination string `json:"destination" path:"write"`
}

// fsMove makes no directories, as the reference server does not.
func (w *writer) fsMove(ctx context.Context, in fsMoveIn) (fsOut, error) {
	from, to, err := w.pair(ctx, in.Source, in.Destination)
	if err != nil {
		return fsOut{}, err
	}
	_, err = w.rename(ctx, from, to, false)
	return fsOut{"Successfully moved " + in.Source + " to " + in.Destination}, onDirectory(from, to, err)
}
