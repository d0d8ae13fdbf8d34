package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

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

// readMany shares the content that one answer may contain among the files, in
// their order; a file for which nothing is left has an error.
func (r *reader) readMany(ctx context.Context, in readManyIn) (readManyOut, error) {
	out := readManyOut{Files: make([]oneOfMany, 0, len(in.Paths))}
	budget := r.maxBytes
	for _, name := range in.Paths {
		if err := ctx.Err(); err != nil {
			return readManyOut{}, err
		}
		var got readOut
		var err error
		if budget <= 0 {
			err = fault.New(fault.LimitReached, "the files before this one filled the answer", "Read it in a call of its own")
		} else if got, err = r.read(ctx, readIn{Path: name, Limit: in.Limit, budget: budget}); err == nil && got.media != nil {
			err = fault.New(fault.ParamInvalid, "this file is not text but "+got.MIMEType, "Read it in a call of its own")
		}
		if err != nil {
			e := fault.From(err)
			out.Files = append(out.Files, oneOfMany{Path: name, Error: &problem{e.Code, e.Sentence()}})
			continue
		}
		budget -= len(got.Content)
		out.Files = append(out.Files, oneOfMany{
			Path: name, Content: &got.Content, TotalLines: got.TotalLines,
			Truncated: got.Truncated, NextOffset: got.NextOffset, note: got.note(),
		})
	}
	return out, nil
}

// Contents is one block for each file, under its name.
func (o readManyOut) Contents() []toolkit.Content {
	blocks := make([]toolkit.Content, 0, len(o.Files))
	for _, f := range o.Files {
		var s string
		switch {
		case f.Error != nil:
			s = fmt.Sprintf("==> %s <==\n[%s: %s]", f.Path, f.Error.Code, f.Error.Message)
		case f.note != "":
			s = fmt.Sprintf("==> %s <==\n%s\n%s", f.Path, *f.Content, f.note)
		default:
			s = fmt.Sprintf("==> %s <==\n%s", f.Path, *f.Content)
		}
		blocks = append(blocks, toolkit.TextBlock(s))
	}
	return blocks
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
