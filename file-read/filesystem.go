package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// fsOut is the shape of all results but one: the text, twice.
type fsOut struct {
	Content string `json:"content"`
}

// Text is the content.
func (o fsOut) Text() string { return o.Content }

type fsPathIn struct {
	Path string `json:"path" path:"read"`
}

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
	head, whole, err := readHead(f, info.Size, 0)
	if err != nil {
		return fsMediaOut{}, err
	}
	got, err := r.readMedia(p, f, info.Size, text.Detect(head, whole).MIME)
	if err != nil {
		return fsMediaOut{}, err
	}
	block := got.media[0]
	data := base64.StdEncoding.EncodeToString(block.Data)
	m := fsMedia{Type: "resource", Resource: &fsResource{block.URI, block.MIME, data}}
	if kind, _, _ := strings.Cut(block.MIME, "/"); kind == "image" || kind == "audio" {
		m = fsMedia{Type: kind, Data: data, MIMEType: block.MIME}
	}
	return fsMediaOut{[]fsMedia{m}, block}, nil
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

// fsMark is what these tools write before the name of an entry.
func fsMark(e entry) string {
	if e.Type == "directory" {
		return "[DIR]"
	}
	return "[FILE]"
}

func (r *reader) fsList(ctx context.Context, in fsPathIn) (fsOut, error) {
	got, err := r.list(ctx, listIn{Dir: in.Path, Hidden: true, Sort: "name", Limit: everything})
	if err != nil {
		return fsOut{}, err
	}
	var names []string
	for _, e := range got.Entries {
		names = append(names, fsMark(e)+" "+text.Escape(e.Name))
	}
	return fsOut{strings.Join(names, "\n")}, nil
}

type fsListSizesIn struct {
	Path   string `json:"path" path:"read"`
	SortBy string `json:"sortBy,omitempty" default:"name" enum:"name|size" doc:"Sort entries by name or size"`
}

func (r *reader) fsListSizes(ctx context.Context, in fsListSizesIn) (fsOut, error) {
	got, err := r.list(ctx, listIn{Dir: in.Path, Hidden: true, Sort: in.SortBy, Limit: everything})
	if err != nil {
		return fsOut{}, err
	}
	var lines []string
	var files, dirs int
	var total int64
	for _, e := range got.Entries {
		size := ""
		if e.Type == "directory" {
			dirs++
		} else {
			files++
			total += e.Size
			size = fmt.Sprintf("%10s", formatSize(e.Size))
		}
		lines = append(lines, fmt.Sprintf("%s %-30s %s", fsMark(e), text.Escape(e.Name), size))
	}
	lines = append(lines, "", fmt.Sprintf("Total: %d files, %d directories", files, dirs), "Combined size: "+formatSize(total))
	return fsOut{strings.Join(lines, "\n")}, nil
}

// formatSize writes a size as the reference server does: bytes below 1 KB, else
// two decimals of the largest unit that is not above it.
func formatSize(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.2f %s", f, []string{"B", "KB", "MB", "GB", "TB"}[unit])
}

func (r *reader) fsInfo(ctx context.Context, in fsPathIn) (fsOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return fsOut{}, err
	}
	i, err := p.Stat()
	if err != nil {
		return fsOut{}, err
	}
	created := i.Created
	if created.IsZero() {
		created = i.Changed
	}
	date := func(t time.Time) string { // as Date.prototype.toString of ECMAScript writes it in UTC, whose long name is the same everywhere
		return t.UTC().Format("Mon Jan 02 2006 15:04:05") + " GMT+0000 (Coordinated Universal Time)"
	}
	return fsOut{strings.Join([]string{
		fmt.Sprintf("size: %d", i.Size),
		"created: " + date(created),
		"modified: " + date(i.Modified),
		"accessed: " + date(i.Accessed),
		fmt.Sprintf("isDirectory: %t", i.Type == confine.Directory),
		fmt.Sprintf("isFile: %t", i.Type == confine.File),
		fmt.Sprintf("permissions: %03o", i.Mode.Perm()),
	}, "\n")}, nil
}

func (r *reader) fsAllowed(ctx context.Context, _ allowedIn) (fsOut, error) {
	got, err := r.listAllowed(ctx, allowedIn{})
	if err != nil {
		return fsOut{}, err
	}
	dirs := make([]string, 0, len(got.Directories))
	for _, d := range got.Directories {
		dirs = append(dirs, d.Path)
	}
	return fsOut{"Allowed directories:\n" + strings.Join(dirs, "\n")}, nil
}

type fsSearchIn struct {
	Path    string   `json:"path" path:"read"`
	Pattern string   `json:"pattern"`
	Exclude []string `json:"excludePatterns,omitempty" doc:"Globs of what to leave out."`
}

func (r *reader) fsSearch(ctx context.Context, in fsSearchIn) (fsOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return fsOut{}, err
	}
	pattern, err := compilePath(in.Pattern)
	if err != nil {
		return fsOut{}, err
	}
	exclude, err := compileGlobs(in.Exclude)
	if err != nil {
		return fsOut{}, err
	}
	var paths []string
	options := walk.Options{Recursive: true, Hidden: true, Exclude: exclude}
	matches := func(_ context.Context, f walk.File) bool { return pattern.matches(f) }
	_, err = walk.All(ctx, p, options, matches, func(f walk.File, matches bool) bool {
		if matches {
			paths = append(paths, text.Escape(f.Path().Abs()))
		}
		return true
	})
	return fsOut{cmp.Or(strings.Join(paths, "\n"), "No matches found")}, err
}
