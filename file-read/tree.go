package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var treeSpec = toolkit.Spec{
	Name:    "directory_tree",
	Title:   "Show a directory tree",
	Doc:     "Show directories and files as an indented tree. What .gitignore excludes is left out, counted.",
	Toolset: "list",
	Effect:  toolkit.Reads,
}

type treeIn struct {
	Path      string   `json:"path" path:"read" doc:"Directory."`
	MaxDepth  int      `json:"max_depth,omitempty" default:"3" min:"1" max:"64" doc:"Levels."`
	Exclude   []string `json:"exclude,omitempty" doc:"Globs of what to leave out, e.g. node_modules"`
	Limit     int      `json:"limit,omitempty" default:"1000" min:"1" max:"20000" doc:"Entries."`
	Gitignore bool     `json:"use_gitignore,omitempty" default:"true" doc:"Leave out what .gitignore excludes."`
}

type treeOut struct {
	Tree      string `json:"tree"`
	Entries   int    `json:"entries"`
	Truncated bool   `json:"truncated"`
	Skipped   counts `json:"skipped"`
}

func (r *reader) tree(ctx context.Context, in treeIn) (treeOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return treeOut{}, err
	}
	exclude, err := compileNames(in.Exclude)
	if err != nil {
		return treeOut{}, err
	}
	var out treeOut
	var b strings.Builder
	b.WriteString(text.Escape(p.String()) + "/\n")
	options := walk.Options{Recursive: true, Hidden: true, Gitignore: in.Gitignore, MaxDepth: in.MaxDepth, Exclude: exclude}
	skipped, err := walk.Tree(ctx, p, options, func(f walk.File) (walk.Step, error) {
		if out.Entries == in.Limit {
			out.Truncated = true
			return walk.Stop, nil
		}
		out.Entries++
		b.WriteString(treeLine(f))
		return walk.Continue, nil
	})
	out.Tree, out.Skipped = b.String(), countsOf(skipped)
	return out, err
}

func treeLine(f walk.File) string {
	mark := ""
	switch f.Type {
	case confine.Directory:
		mark = "/"
	case confine.Symlink:
		mark = " [symlink]"
	case confine.Other:
		mark = " [special]"
	}
	return strings.Repeat("  ", f.Depth) + text.Escape(f.Name) + mark + "\n"
}

// compileNames compiles globs that mean a name at any depth, or a path from the
// top if they have a slash.
func compileNames(patterns []string) ([]glob.Pattern, error) {
	var out []glob.Pattern
	for _, s := range patterns {
		s = strings.TrimSuffix(strings.TrimPrefix(s, "./"), "/")
		if !strings.Contains(s, "/") {
			s = "**/" + s
		}
		p, err := glob.Compile(strings.TrimPrefix(s, "/"))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Text is the tree and what was left out of it.
func (o treeOut) Text() string {
	s := o.Tree
	if o.Truncated {
		s += fmt.Sprintf("[stopped after %d entries; look at a subdirectory, or give exclude, max_depth or limit]\n", o.Entries)
	}
	return s + o.Skipped.note()
}
