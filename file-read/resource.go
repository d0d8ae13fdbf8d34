package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// completionsMax is the number of values a completion may have (MCP
// specification, completion/complete).
const completionsMax = 100

// resources offers every file that file_read could read under its file: URI.
func resources(r *reader) *toolkit.Resources {
	return &toolkit.Resources{
		URITemplate: "file:///{+path}",
		Name:        "file",
		Title:       "A file",
		Doc:         "A text file beneath the allowed directories.",
		Read:        r.readResource,
		Complete:    r.completePath,
	}
}

func (r *reader) readResource(ctx context.Context, uri string) ([]toolkit.ResourceContent, error) {
	got, err := r.read(ctx, readIn{Path: uri})
	switch {
	case err != nil:
		return nil, err
	case got.media != nil:
		return []toolkit.ResourceContent{{URI: uri, MIME: got.MIMEType, Blob: got.media[0].Data}}, nil
	case got.Truncated: // a resource has no pages, and half a file that looks complete is worse than none
		return nil, fault.New(fault.LimitReached, "the file is larger than one resource may be", "Read it by lines with a tool of this server").
			With("limit", r.maxBytes).With("size", got.Size)
	}
	return []toolkit.ResourceContent{{URI: uri, MIME: got.MIMEType, Text: got.Content}}, nil
}

// completePath completes what the person has typed of the template's {+path}: an
// absolute path without its first slash. Nothing is completed in a directory that cannot
// be listed.
func (r *reader) completePath(ctx context.Context, prefix string) (values []string, total int, more bool, err error) {
	roots, err := r.scope.Roots(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	parent, start := path.Split("/" + strings.TrimPrefix(prefix, "/"))
	for _, dir := range roots.Dirs() {
		if dir := strings.TrimPrefix(dir, "/"); strings.HasPrefix(dir, strings.TrimPrefix(parent+start, "/")) {
			values = append(values, dir+"/")
		}
	}
	if p, err := roots.Parse(parent); err == nil {
		values = append(values, completionsIn(ctx, p, start)...)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	total = len(values)
	return values[:min(total, completionsMax)], total, total > completionsMax, nil
}

// completionsIn are the entries of a directory whose names begin with start.
func completionsIn(ctx context.Context, p confine.Path, start string) (values []string) {
	d, err := p.OpenDir()
	if err != nil {
		return nil
	}
	defer d.Close()
	for err == nil && ctx.Err() == nil {
		var entries []confine.Entry
		entries, err = d.Next(1024)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name, start) {
				continue
			}
			name := strings.TrimPrefix(p.Child(e.Name).Abs(), "/")
			if e.Type == confine.Directory {
				name += "/"
			}
			values = append(values, name)
		}
	}
	return values
}
