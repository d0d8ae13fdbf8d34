package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabulary of document 002: writing replaces what is there.

var localWriteSpec = toolkit.Spec{
	Name: "write_local_file", Title: "Write a file", Toolset: "write", Effect: toolkit.Writes, Destructive: true, Idempotent: true,
	Doc: "Write a text file beneath the allowed directories. One that exists is overwritten; missing directories are made.",
}

// stringResult is how FastMCP answers a function that returns str.
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
	out, err := w.write(ctx, writeIn{Path: in.Path, Content: in.Content, Overwrite: true, Parents: true})
	return stringResult{out.sentence()}, err
}

// sentence is the success in words, for vocabularies whose results are strings.
func (o writeOut) sentence() string {
	did := "Overwrote"
	if o.Created {
		did = "Created"
	}
	return fmt.Sprintf("%s %s (%d bytes).", did, text.Escape(o.Path), o.Written)
}
