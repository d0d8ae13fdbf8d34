package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// list_directory of document 002, with sizes, times and pages.
var listSpec = toolkit.Spec{
	Name:    "list_directory",
	Title:   "List a directory",
	Doc:     "List what lies directly in a directory, a page at a time.",
	Toolset: "list",
	Effect:  toolkit.Reads,
}

type listIn struct {
	Dir     string `json:"dir_path" path:"read" doc:"Directory."`
	Pattern string `json:"pattern,omitempty" doc:"Names to list, e.g. *.go"`
	Hidden  bool   `json:"include_hidden,omitempty" default:"true" doc:"Also names starting with a dot."`
	Sort    string `json:"sort,omitempty" default:"name" enum:"name|size|modified" doc:"Largest or newest first."`
	Limit   int    `json:"limit,omitempty" default:"500" min:"1" max:"5000" doc:"Entries a page."`
	Cursor  string `json:"cursor,omitempty" doc:"nextCursor of the page before."`
}

type listOut struct {
	Entries    []entry `json:"entries"`
	Total      int     `json:"total"`
	NextCursor string  `json:"nextCursor,omitempty"`
	Denied     int     `json:"denied,omitempty"`
}

type entry struct {
	Name     string `json:"name"`
	Type     string `json:"type" doc:"file, directory, symlink or other."`
	Size     int64  `json:"size,omitempty"`
	Modified string `json:"modified,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (r *reader) list(ctx context.Context, in listIn) (listOut, error) {
	p, err := r.scope.Parse(ctx, in.Dir)
	if err != nil {
		return listOut{}, err
	}
	after, err := parseCursor(in.Cursor, in.Sort)
	if err != nil {
		return listOut{}, err
	}
	d, err := p.OpenDir()
	if err != nil {
		return listOut{}, err
	}
	defer d.Close()
	items, err := readItems(ctx, d, in)
	if err != nil {
		return listOut{}, err
	}
	slices.SortFunc(items, item.compare)
	first, _ := slices.BinarySearchFunc(items, after, func(i item, c cursor) int {
		if i.compare(item(c)) <= 0 && in.Cursor != "" {
			return -1
		}
		return 1
	})
	page := items[first:min(first+in.Limit, len(items))]
	out := listOut{Entries: describe(d, page), Total: len(items), Denied: d.Denied()}
	if first+len(page) < len(items) {
		out.NextCursor = cursor(page[len(page)-1]).String(in.Sort)
	}
	return out, nil
}

// item is a name with the key it is sorted by; larger keys come first, equal
// ones by name, so that a page can go on after any of them even if the directory
// has changed in between.
type item struct {
	key  int64
	name string
	kind confine.Type
}

func (i item) compare(j item) int {
	return cmp.Or(cmp.Compare(j.key, i.key), strings.Compare(i.name, j.name))
}

func readItems(ctx context.Context, d *confine.Dir, in listIn) ([]item, error) {
	want, err := nameFilter(in)
	if err != nil {
		return nil, err
	}
	var items []item
	for {
		entries, err := d.Next(1024)
		for _, e := range entries {
			if want(e.Name) {
				items = append(items, item{sortKey(d, e.Name, in.Sort), e.Name, e.Type})
			}
		}
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

func nameFilter(in listIn) (func(string) bool, error) {
	visible := func(name string) bool { return in.Hidden || !strings.HasPrefix(name, ".") }
	if in.Pattern == "" {
		return visible, nil
	}
	pattern, err := glob.Compile(in.Pattern)
	return func(name string) bool { return visible(name) && pattern.Match(name) }, err
}

// sortKey is 0 for what cannot be looked at; it is listed all the same, last.
func sortKey(d *confine.Dir, name, by string) int64 {
	if by == "name" {
		return 0
	}
	info, err := d.Info(name)
	switch {
	case err != nil:
		return 0
	case by == "size":
		return info.Size
	}
	return info.Modified.UnixNano()
}

func describe(d *confine.Dir, page []item) []entry {
	out := make([]entry, 0, len(page))
	for _, i := range page {
		e := entry{Name: i.name, Type: i.kind.String()}
		if info, err := d.Info(i.name); err != nil {
			e.Error = fault.From(err).Sentence()
		} else {
			e.Type, e.Modified = info.Type.String(), stamp(info.Modified)
			if info.Type == confine.File {
				e.Size = info.Size
			}
		}
		out = append(out, e)
	}
	return out
}

// stamp is a time as every answer of this server writes it: RFC 3339, UTC, seconds.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// cursor is the last item of a page. It is opaque to clients, but not secret and
// not trusted: all it can do is choose where in a sorted list to go on.
type cursor item

func (c cursor) String(by string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(by + "/" + strconv.FormatInt(c.key, 10) + "/" + c.name))
}

func parseCursor(s, by string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.SplitN(string(raw), "/", 3)
	if err != nil || len(parts) != 3 || parts[0] != by {
		return cursor{}, badCursor()
	}
	key, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return cursor{}, badCursor()
	}
	return cursor{key: key, name: parts[2]}, nil
}

func badCursor() error {
	return fault.New(fault.ParamInvalid, "cursor is not from an answer to this question", "Give the nextCursor of the page before, with the same other parameters, or none for the first page")
}

// Text is a line an entry: name, size, time.
func (o listOut) Text() string {
	var b strings.Builder
	for _, e := range o.Entries {
		b.WriteString(e.line())
		b.WriteByte('\n')
	}
	switch {
	case o.Total == 0:
		b.WriteString("[nothing here]")
	case o.NextCursor != "":
		fmt.Fprintf(&b, "[%d of %d entries; go on with cursor=%s]", len(o.Entries), o.Total, o.NextCursor)
	default:
		fmt.Fprintf(&b, "[%d entries]", o.Total)
	}
	if o.Denied > 0 {
		fmt.Fprintf(&b, " [%d left out by deny rules]", o.Denied)
	}
	return b.String()
}

func (e entry) line() string {
	name := text.Escape(e.Name)
	switch {
	case e.Error != "":
		return fmt.Sprintf("%s  [%s: %s]", name, e.Type, e.Error)
	case e.Type == "directory":
		return fmt.Sprintf("%s/  %s", name, e.Modified)
	case e.Type == "file":
		return fmt.Sprintf("%s  %d  %s", name, e.Size, e.Modified)
	}
	return fmt.Sprintf("%s  [%s]  %s", name, e.Type, e.Modified)
}
