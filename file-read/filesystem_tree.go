package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// treeBudget bounds the JSON text of a tree in bytes: this tool has no pages, and
// a part of a JSON document is not a document.
const treeBudget = 4 << 20

type fsTreeIn struct {
	Path    string   `json:"path" path:"read"`
	Exclude []string `json:"excludePatterns,omitempty" doc:"Globs of what to leave out."`
}

// fsNode is an entry of the tree; a directory has children, perhaps none, and a
// file has no such key.
type fsNode struct {
	Name     string     `json:"name"`
	Type     string     `json:"type"`
	Children *[]*fsNode `json:"children,omitempty"`
}

func (r *reader) fsTree(ctx context.Context, in fsTreeIn) (fsOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return fsOut{}, err
	}
	// A pattern with a star is for paths from the start, one without is for a name at any
	// depth and what is under it.
	var forms []string
	for _, s := range in.Exclude {
		forms = append(forms, s)
		if !strings.Contains(s, "*") {
			forms = append(forms, "**/"+s)
		}
	}
	exclude, err := compileGlobs(forms)
	if err != nil {
		return fsOut{}, err
	}
	top := &fsNode{Children: &[]*fsNode{}}
	open := []*fsNode{top} // the directories on the way to the entry visited
	budget := treeBudget
	_, err = walk.All(ctx, p, walk.Options{Recursive: true, Hidden: true, Exclude: exclude}, noWork, func(f walk.File, _ struct{}) bool {
		if budget -= len(f.Name) + 2*f.Depth + 40; budget < 0 {
			return false
		}
		node := &fsNode{Name: f.Name, Type: "file"}
		if f.Type == confine.Directory {
			node.Type, node.Children = "directory", &[]*fsNode{}
		}
		open = append(open[:f.Depth], node)
		parent := open[f.Depth-1]
		*parent.Children = append(*parent.Children, node)
		return true
	})
	if err != nil {
		return fsOut{}, err
	}
	if budget < 0 {
		return fsOut{}, fault.New(fault.LimitReached, "the tree is too large for one answer",
			"Ask for a subdirectory, or exclude some with excludePatterns").With("limit", treeBudget)
	}
	var b strings.Builder // JSON as JSON.stringify(value, null, 2) writes it
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(*top.Children); err != nil {
		return fsOut{}, err
	}
	return fsOut{strings.TrimSuffix(b.String(), "\n")}, nil
}
