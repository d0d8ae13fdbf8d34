package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var readManySpec = toolkit.Spec{
	Name:    "read_multiple_files",
	Title:   "Read several files",
	Doc:     "Read several text files at once. One that cannot be read does not fail the others.",
	Toolset: "read",
	Effect:  toolkit.Reads,
}

type readManyIn struct {
	Paths []string `json:"paths" path:"read" minItems:"1" maxItems:"100" doc:"Files."`
	Limit int      `json:"limit,omitempty" min:"1" doc:"Lines to read of each."`
}

type readManyOut struct {
	Files []oneOfMany `json:"files"`
}

type oneOfMany struct {
	Path       string   `json:"path"`
	Content    *string  `json:"content,omitempty"`
	TotalLines *int64   `json:"totalLines,omitempty"`
	Truncated  bool     `json:"truncated,omitempty"`
	NextOffset int64    `json:"nextOffset,omitempty"`
	Error      *problem `json:"error,omitempty"`

	note string
}

type problem struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// readMany shares the content that one answer may carry among the files, in
// their order; a file for which nothing is left says so.
func (r *reader) readMany(ctx context.Context, in readManyIn) (readManyOut, error) {
	out := readManyOut{Files: make([]oneOfMany, 0, len(in.Paths))}
	budget := r.maxBytes
	for _, name := range in.Paths {
		if err := ctx.Err(); err != nil {
			return readManyOut{}, err
		}
		one := r.readOne(ctx, name, in.Limit, budget)
		if one.Content != nil {
			budget -= len(*one.Content)
		}
		out.Files = append(out.Files, one)
	}
	return out, nil
}

func (r *reader) readOne(ctx context.Context, name string, limit, budget int) oneOfMany {
	if budget <= 0 {
		return failed(name, fault.New(fault.LimitReached, "the files before this one filled the answer", "Read it in a call of its own"))
	}
	p, err := r.scope.Parse(ctx, name)
	if err != nil {
		return failed(name, err)
	}
	got, err := r.readPath(ctx, p, readIn{Limit: limit}, budget)
	if err != nil {
		return failed(name, err)
	}
	if got.media != nil {
		return failed(name, fault.New(fault.ParamInvalid, "this file is not text but "+got.MIMEType, "Read it in a call of its own"))
	}
	return oneOfMany{
		Path: name, Content: &got.Content, TotalLines: got.TotalLines,
		Truncated: got.Truncated, NextOffset: got.NextOffset, note: got.note(),
	}
}

func failed(name string, err error) oneOfMany {
	e := fault.From(err)
	return oneOfMany{Path: name, Error: &problem{e.Code, e.Sentence()}}
}

// Contents is one block for each file, under its name.
func (o readManyOut) Contents() []toolkit.Content {
	blocks := make([]toolkit.Content, 0, len(o.Files))
	for _, f := range o.Files {
		blocks = append(blocks, toolkit.TextBlock(f.text()))
	}
	return blocks
}

func (f oneOfMany) text() string {
	if f.Error != nil {
		return fmt.Sprintf("==> %s <==\n[%s: %s]", f.Path, f.Error.Code, f.Error.Message)
	}
	s := fmt.Sprintf("==> %s <==\n%s", f.Path, *f.Content)
	if f.note != "" {
		s += "\n" + f.note
	}
	return s
}

// Bytes is what the audit log records as read.
func (o readManyOut) Bytes() int64 {
	n := 0
	for _, f := range o.Files {
		if f.Content != nil {
			n += len(*f.Content)
		}
	}
	return int64(n)
}
