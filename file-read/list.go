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

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/text"
)

// list_directory of document 002, with sizes, times and pages.
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
	items, err := in.items(ctx, d)
	if err != nil {
		return listOut{}, err
	}
	first := 0
	if in.Cursor != "" {
		var there bool
		if first, there = slices.BinarySearchFunc(items, after, item.compare); there {
			first++
		}
	}
	page := items[first:min(first+in.Limit, len(items))]

	out := listOut{Entries: make([]entry, 0, len(page)), Total: len(items), Denied: d.Denied()}
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
		out.Entries = append(out.Entries, e)
	}
	if first+len(page) < len(items) {
		last := page[len(page)-1]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(in.Sort + "/" + strconv.FormatInt(last.key, 10) + "/" + last.name))
	}
	return out, nil
}

// items are all entries to be listed, in order.
func (in listIn) items(ctx context.Context, d *confine.Dir) (all []item, err error) {
	var pattern glob.Pattern
	if in.Pattern != "" {
		if pattern, err = glob.Compile(in.Pattern); err != nil {
			return nil, err
		}
	}
	for !errors.Is(err, io.EOF) {
		var entries []confine.Entry
		entries, err = d.Next(1024)
		for _, e := range entries {
			if (in.Hidden || !strings.HasPrefix(e.Name, ".")) && (in.Pattern == "" || pattern.Match(e.Name)) {
				all = append(all, item{sortKey(d, e.Name, in.Sort), e.Name, e.Type})
			}
		}
		if err := cmp.Or(err, ctx.Err()); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	slices.SortFunc(all, item.compare)
	return all, nil
}

// sortKey is the size or the time of a name, in the order of the parameter sort; 0, so that
// it comes last, of one that cannot be looked at.
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

// item is a name with the key it is sorted by; larger keys come first, equal
// ones by name, so that a page can begin after any of them even if the directory
// has changed in between.
type item struct {
	key  int64
	name string
	kind confine.Type
}

func (i item) compare(j item) int {
	return cmp.Or(cmp.Compare(j.key, i.key), strings.Compare(i.name, j.name))
}

// stamp is a time as every answer of this server writes it: RFC 3339, UTC, seconds.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// parseCursor reads the last item of a page. A cursor is opaque to clients, but not
// secret and not trusted: all it can do is choose where in a sorted list to continue.
func parseCursor(s, by string) (item, error) {
	if s == "" {
		return item{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.SplitN(string(raw), "/", 3)
	if err != nil || len(parts) != 3 || parts[0] != by {
		return item{}, badCursor()
	}
	key, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return item{}, badCursor()
	}
	return item{key: key, name: parts[2]}, nil
}

func badCursor() error {
	return fault.New(fault.ParamInvalid, "cursor is not from an answer to this question",
		"Give the nextCursor of the page before, with the same other parameters, or none for the first page")
}

// Text is a line an entry: name, size, time.
func (o listOut) Text() string {
	var b strings.Builder
	for _, e := range o.Entries {
		name := text.Escape(e.Name)
		switch {
		case e.Error != "":
			fmt.Fprintf(&b, "%s  [%s: %s]\n", name, e.Type, e.Error)
		case e.Type == "directory":
			fmt.Fprintf(&b, "%s/  %s\n", name, e.Modified)
		case e.Type == "file":
			fmt.Fprintf(&b, "%s  %d  %s\n", name, e.Size, e.Modified)
		default:
			fmt.Fprintf(&b, "%s  [%s]  %s\n", name, e.Type, e.Modified)
		}
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

type allowedIn struct{}

func (r *reader) listAllowed(ctx context.Context, _ allowedIn) (command.Directories, error) {
	return command.ListDirectories(ctx, r.scope, "read")
}
