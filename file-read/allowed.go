package main

import (
	"context"
	"strings"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

var allowedSpec = toolkit.Spec{
	Name:    "list_allowed_directories",
	Title:   "List the allowed directories",
	Doc:     "List the directories that may be read. A relative path means the first of them in which it exists.",
	Toolset: "list",
	Effect:  toolkit.Reads,
}

type allowedIn struct{}

type allowedOut struct {
	Directories []allowedDirectory `json:"directories"`
}

type allowedDirectory struct {
	Path   string `json:"path"`
	Access string `json:"access"`
}

func (r *reader) listAllowed(ctx context.Context, _ allowedIn) (allowedOut, error) {
	roots, err := r.allowed(ctx)
	if err != nil {
		return allowedOut{}, err
	}
	out := allowedOut{Directories: []allowedDirectory{}}
	for _, dir := range roots.Dirs() {
		out.Directories = append(out.Directories, allowedDirectory{dir, "read"})
	}
	return out, nil
}

// Text is a directory a line.
func (o allowedOut) Text() string {
	if len(o.Directories) == 0 {
		return "[no directory may be read]"
	}
	var b strings.Builder
	for _, d := range o.Directories {
		b.WriteString(d.Path + " (" + d.Access + ")\n")
	}
	return b.String()
}
