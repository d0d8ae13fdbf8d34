package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/text"
)

func (r *reader) fsList(ctx context.Context, in fsPathIn) (fsOut, error) {
	got, err := r.list(ctx, listIn{Dir: in.Path, Hidden: true, Sort: "name", Limit: everything})
	if err != nil {
		return fsOut{}, err
	}
	var names []string
	for _, e := range got.Entries {
		names = append(names, e.mark()+" "+text.Escape(e.Name))
	}
	return fsOut{strings.Join(names, "\n")}, nil
}

func (e entry) mark() string {
	if e.Type == "directory" {
		return "[DIR]"
	}
	return "[FILE]"
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
		lines = append(lines, fmt.Sprintf("%s %-30s %s", e.mark(), text.Escape(e.Name), size))
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
	return fsOut{strings.Join([]string{
		fmt.Sprintf("size: %d", i.Size),
		"created: " + scriptDate(created),
		"modified: " + scriptDate(i.Modified),
		"accessed: " + scriptDate(i.Accessed),
		fmt.Sprintf("isDirectory: %t", i.Type == confine.Directory),
		fmt.Sprintf("isFile: %t", i.Type == confine.File),
		fmt.Sprintf("permissions: %03o", i.Mode.Perm()),
	}, "\n")}, nil
}

// scriptDate is a time as Date.prototype.toString of ECMAScript writes it, in
// UTC, whose long name is the same everywhere.
func scriptDate(t time.Time) string {
	return t.UTC().Format("Mon Jan 02 2006 15:04:05") + " GMT+0000 (Coordinated Universal Time)"
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
