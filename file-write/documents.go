package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabularies of document 002, where writing replaces what is there, and of document
// 004. In the latter paths are relative; with the dated layout, which is its default, they
// begin at output/DATE/user_ID, and results name the whole path.

var (
	localWriteSpec = toolkit.Spec{
		Name: "write_local_file", Title: "Write a file", Toolset: "write", Effect: toolkit.Writes, Destructive: true, Idempotent: true,
		Doc: "Write a text file beneath the allowed directories. One that exists is overwritten; missing directories are made.",
	}
	agentWriteSpec = toolkit.Spec{
		Name: "write_file", Title: "Write a file", Toolset: "write", Effect: toolkit.Writes, Destructive: true, Idempotent: true,
		Doc: "Write a text file into today's output folder. One that exists is overwritten. Answers where it lies.",
	}
	agentEditSpec = toolkit.Spec{
		Name: "edit_file", Title: "Edit a file", Toolset: "edit", Effect: toolkit.Writes, Destructive: true,
		Doc: "Replace text in a file of the output folder: old_string by new_string, literally, " +
			"where it stands exactly once, or everywhere with replace_all.",
	}
)

// stringResult is how FastMCP returns the result of a function that returns str.
type stringResult struct {
	Result string `json:"result"`
}

// Text is the string itself.
func (s stringResult) Text() string { return s.Result }

type localWriteIn struct {
	Path    string `json:"file_path" path:"write" doc:"File: absolute, or relative to an allowed directory."`
	Content string `json:"content" content:"true" doc:"The text."`
}

func (w *writer) localWrite(ctx context.Context, in localWriteIn) (stringResult, error) {
	return w.writeOver(ctx, in.Path, in.Content)
}

type agentWriteIn struct {
	Path    string `json:"path" path:"write" doc:"Relative path of the file."`
	Content string `json:"content" content:"true" doc:"The text."`
}

func (w *writer) agentWrite(ctx context.Context, in agentWriteIn) (stringResult, error) {
	return w.writeOver(ctx, in.Path, in.Content)
}

func (w *writer) writeOver(ctx context.Context, path, content string) (stringResult, error) {
	out, err := w.write(ctx, writeIn{Path: path, Content: content, Overwrite: true, Parents: true})
	did := "Overwrote"
	if out.Created {
		did = "Created"
	}
	return stringResult{fmt.Sprintf("%s %s (%d bytes).", did, text.Escape(out.Path), out.Written)}, err
}

type agentEditIn struct {
	Path string `json:"path" path:"write" doc:"Relative path of the file."`
	Old  string `json:"old_string" content:"true" doc:"Text to replace."`
	New  string `json:"new_string" content:"true" doc:"Text to put in its place."`
	All  bool   `json:"replace_all,omitempty" default:"false" doc:"Replace every match."`
}

func (w *writer) agentEdit(ctx context.Context, in agentEditIn) (stringResult, error) {
	out, err := w.edit(ctx, editIn{Path: in.Path, Old: &in.Old, New: &in.New, All: in.All})
	return stringResult{fmt.Sprintf("Edited %s (replacements: %d).", text.Escape(out.Path), out.Replacements)}, err
}
