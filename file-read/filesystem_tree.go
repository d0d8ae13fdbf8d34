package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

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
	exclude, err := fsExclude(in.Exclude)
	if err != nil {
		return fsOut{}, err
	}
	top := &fsNode{Children: &[]*fsNode{}}
	open := []*fsNode{top} // the directories on the way to the entry visited
	budget := treeBudget
	_, err = walk.Tree(ctx, p, walk.Options{Recursive: true, Hidden: true, Exclude: exclude}, func(f walk.File) (walk.Step, error) {
		if budget -= len(f.Name) + 2*f.Depth + 40; budget < 0 {
			return walk.Stop, treeTooLarge()
		}
		node := &fsNode{Name: f.Name, Type: "file"}
		if f.Type == confine.Directory {
			node.Type, node.Children = "directory", &[]*fsNode{}
		}
		open = append(open[:f.Depth], node)
		parent := open[f.Depth-1]
		*parent.Children = append(*parent.Children, node)
		return walk.Continue, nil
	})
	if err != nil {
		return fsOut{}, err
	}
	return fsOut{indented(*top.Children)}, nil
}

// treeBudget bounds the JSON text of a tree in bytes: this tool has no pages, and
// a part of a JSON document is no document.
const treeBudget = 4 << 20

func treeTooLarge() error {
	return fault.New(fault.LimitReached, "the tree is too large for one answer", "Ask for a subdirectory, or exclude some with excludePatterns").With("limit", treeBudget)
}

// indented is JSON as JSON.stringify(value, null, 2) writes it.
func indented(nodes []*fsNode) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(nodes); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fsExclude: a pattern with a star is for paths from the start, one without is
// for a name at any depth and what is beneath it.
func fsExclude(patterns []string) ([]glob.Pattern, error) {
	var out []glob.Pattern
	for _, s := range patterns {
		forms := []string{s}
		if !strings.Contains(s, "*") {
			forms = []string{s, "**/" + s}
		}
		for _, form := range forms {
			p, err := glob.Compile(form)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}
