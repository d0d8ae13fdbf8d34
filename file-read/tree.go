package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/text"
)

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

// treeMarks are what follows the names of entries that are not files.
var treeMarks = map[confine.Type]string{confine.Directory: "/", confine.Symlink: " [symlink]", confine.Other: " [special]"}

// noWork is the work of a walk that only visits.
func noWork(context.Context, walk.File) struct{} { return struct{}{} }

func (r *reader) tree(ctx context.Context, in treeIn) (treeOut, error) {
	p, err := r.scope.Parse(ctx, in.Path)
	if err != nil {
		return treeOut{}, err
	}
	var forms []string // a name at any depth, or with a slash a path from the top
	for _, s := range in.Exclude {
		s = strings.TrimSuffix(strings.TrimPrefix(s, "./"), "/")
		if !strings.Contains(s, "/") {
			s = "**/" + s
		}
		forms = append(forms, strings.TrimPrefix(s, "/"))
	}
	exclude, err := compileGlobs(forms)
	if err != nil {
		return treeOut{}, err
	}
	var out treeOut
	var b strings.Builder
	b.WriteString(text.Escape(p.String()) + "/\n")
	options := walk.Options{Recursive: true, Hidden: true, Gitignore: in.Gitignore, MaxDepth: in.MaxDepth, Exclude: exclude}
	skipped, err := walk.All(ctx, p, options, noWork, func(f walk.File, _ struct{}) bool {
		if out.Entries == in.Limit {
			out.Truncated = true
			return false
		}
		out.Entries++
		b.WriteString(strings.Repeat("  ", f.Depth) + text.Escape(f.Name) + treeMarks[f.Type] + "\n")
		return true
	})
	out.Tree, out.Skipped = b.String(), countsOf(skipped)
	return out, err
}

// Text is the tree and what was left out of it.
func (o treeOut) Text() string {
	s := o.Tree
	if o.Truncated {
		s += fmt.Sprintf("[stopped after %d entries; look at a subdirectory, or give exclude, max_depth or limit]\n", o.Entries)
	}
	return s + o.Skipped.note()
}
