package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabulary of document 004. Paths are relative; with the dated layout, which is
// its default, they begin at output/DATE/user_ID, and answers tell the whole path.

var (
	agentWriteSpec = toolkit.Spec{
		Name: "write_file", Title: "Write a file", Toolset: "write", Effect: toolkit.Writes, Destructive: true, Idempotent: true,
		Doc: "Write a text file into today's output folder. One that exists is overwritten. Answers where it lies.",
	}
	agentEditSpec = toolkit.Spec{
		Name: "edit_file", Title: "Edit a file", Toolset: "edit", Effect: toolkit.Writes, Destructive: true,
		Doc: "Replace text in a file of the output folder: old_string by new_string, literally, where it stands exactly once, or everywhere with replace_all.",
	}
)

type agentWriteIn struct {
	Path    string `json:"path" path:"write" doc:"Relative path of the file."`
	Content string `json:"content" content:"true" doc:"The text."`
}

func (w *writer) agentWrite(ctx context.Context, in agentWriteIn) (stringResult, error) {
	out, err := w.write(ctx, writeIn{Path: in.Path, Content: in.Content, Overwrite: true, Parents: true})
	return stringResult{out.sentence()}, err
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
