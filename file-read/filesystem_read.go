package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

type fsReadIn struct {
	Path string `json:"path" path:"read"`
	Tail *int   `json:"tail,omitempty" min:"0" doc:"If provided, returns only the last N lines of the file"`
	Head *int   `json:"head,omitempty" min:"0" doc:"If provided, returns only the first N lines of the file"`
}

func (r *reader) fsRead(ctx context.Context, in fsReadIn) (fsOut, error) {
	read := readIn{Path: in.Path}
	head, tail := in.Head != nil && *in.Head > 0, in.Tail != nil && *in.Tail > 0
	switch {
	case head && tail:
		return fsOut{}, fault.New(fault.ParamInvalid, "Cannot specify both head and tail parameters simultaneously", "Give one of them")
	case head:
		read.Limit = *in.Head
	case tail:
		read.Offset = -int64(*in.Tail)
	}
	got, err := r.read(ctx, read)
	if err != nil {
		return fsOut{}, err
	}
	if head && (!got.Truncated || got.LineCount >= *in.Head) { // all that was asked for, without the newline that ends it
		return fsOut{strings.TrimSuffix(got.Content, "\n")}, nil
	}
	return fsOut{got.oneText()}, nil
}

type fsMediaOut struct {
	Content []fsMedia `json:"content"`

	block toolkit.Content
}

type fsMedia struct {
	Type     string      `json:"type"`
	Data     string      `json:"data,omitempty"`
	MIMEType string      `json:"mimeType,omitempty"`
	Resource *fsResource `json:"resource,omitempty"`
}

type fsResource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Blob     string `json:"blob"`
}

// fsReadMedia reads any file as bytes; --allow-mime, which is */* by default in
// this vocabulary, narrows it.
func (r *reader) fsReadMedia(ctx context.Context, in fsPathIn) (fsMediaOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return fsMediaOut{}, err
	}
	f, info, err := p.Open()
	if err != nil {
		return fsMediaOut{}, err
	}
	defer f.Close()
	head, whole, err := readHead(f, info.Size)
	if err != nil {
		return fsMediaOut{}, err
	}
	got, err := r.readMedia(p, f, info.Size, text.Detect(head, whole).MIME)
	if err != nil {
		return fsMediaOut{}, err
	}
	return mediaResult(got), nil
}

func mediaResult(got readOut) fsMediaOut {
	block := got.media[0]
	data := base64.StdEncoding.EncodeToString(block.Data)
	m := fsMedia{Type: mediaKind(block.MIME), Data: data, MIMEType: block.MIME}
	if m.Type == "resource" {
		m = fsMedia{Type: m.Type, Resource: &fsResource{block.URI, block.MIME, data}}
	}
	return fsMediaOut{[]fsMedia{m}, block}
}

// Contents is the one media block.
func (o fsMediaOut) Contents() []toolkit.Content { return []toolkit.Content{o.block} }

type fsReadManyIn struct {
	Paths []string `json:"paths" path:"read" minItems:"1" maxItems:"100" doc:"Paths of the files to read."`
}

func (r *reader) fsReadMany(ctx context.Context, in fsReadManyIn) (fsOut, error) {
	got, err := r.readMany(ctx, readManyIn{Paths: in.Paths})
	if err != nil {
		return fsOut{}, err
	}
	var parts []string
	for _, f := range got.Files {
		switch {
		case f.Error != nil:
			parts = append(parts, fmt.Sprintf("%s: Error - %s: %s", f.Path, f.Error.Code, f.Error.Message))
		case f.note != "":
			parts = append(parts, fmt.Sprintf("%s:\n%s\n%s\n", f.Path, *f.Content, f.note))
		default:
			parts = append(parts, fmt.Sprintf("%s:\n%s\n", f.Path, *f.Content))
		}
	}
	return fsOut{strings.Join(parts, "\n---\n")}, nil
}
