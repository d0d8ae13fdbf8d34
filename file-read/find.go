package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/text"
)

// find_files_by_pattern of document 002.
type findIn struct {
	Base string `json:"base_dir" path:"read" doc:"Directory to start from."`
	Glob string `json:"pattern" doc:"Glob: *.py is matched with names, src/**/*.{ts,tsx} with paths from base_dir (and always looks deeper)."`

	Recursive  bool   `json:"recursive,omitempty" default:"false" doc:"Also below subdirectories."`
	Type       string `json:"type,omitempty" default:"any" enum:"any|file|directory" doc:"What to find."`
	Gitignore  bool   `json:"use_gitignore,omitempty" default:"true" doc:"Leave out what .gitignore excludes."`
	MaxResults int    `json:"max_results,omitempty" default:"1000" min:"1" max:"10000" doc:"Paths an answer."`
	Cursor     string `json:"cursor,omitempty" doc:"nextCursor of the answer before."`
}

type findOut struct {
	Paths      []string `json:"paths"`
	Truncated  bool     `json:"truncated"`
	NextCursor string   `json:"nextCursor,omitempty"`
	Looked     int      `json:"entriesSearched"`
	Skipped    counts   `json:"skipped"`

	pattern string
}

func (r *reader) find(ctx context.Context, in findIn) (findOut, error) {
	p, err := r.scope.Parse(ctx, in.Base)
	if err != nil {
		return findOut{}, err
	}
	pattern, err := compileFind(in.Glob)
	if err != nil {
		return findOut{}, err
	}
	raw, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	after, ok := strings.CutPrefix(string(raw), "find/")
	if in.Cursor != "" && (err != nil || !ok) {
		return findOut{}, badCursor()
	}
	out := findOut{Paths: []string{}, pattern: in.Glob}
	options := walk.Options{Hidden: true, Gitignore: in.Gitignore, After: after}
	options.Recursive = in.Recursive || strings.Contains(in.Glob, "/")
	var last walk.File
	skipped, err := walk.All(ctx, p, options, func(_ context.Context, f walk.File) bool {
		switch {
		case in.Type == "file" && f.Type != confine.File, in.Type == "directory" && f.Type != confine.Directory:
			return false
		}
		return pattern.matches(f)
	}, func(f walk.File, matches bool) bool {
		out.Looked++
		switch {
		case !matches || after != "" && byComponent(f.Rel()) <= byComponent(after):
			return true
		case len(out.Paths) == in.MaxResults:
			out.Truncated, out.NextCursor = true, base64.RawURLEncoding.EncodeToString([]byte("find/"+last.Rel()))
			return false
		}
		last = f
		out.Paths = append(out.Paths, f.Path().String())
		return true
	})
	out.Skipped = countsOf(skipped)
	return out, err
}

// namePattern is a glob for entries of a tree. The zero value means all of them.
type namePattern struct {
	glob   glob.Pattern
	given  bool
	byName bool // only the name counts, at any depth
}

func (p namePattern) matches(f walk.File) bool {
	switch {
	case !p.given:
		return true
	case p.byName:
		return p.glob.Match(f.Name)
	}
	return p.glob.Match(f.Rel())
}

// compileFind compiles a pattern without a slash for names at any depth, and one
// with a slash for paths from the start.
func compileFind(s string) (namePattern, error) {
	s = strings.TrimPrefix(s, "./")
	if !strings.Contains(s, "/") {
		s = "**/" + s
	}
	return compilePath(strings.TrimPrefix(s, "/"))
}

// compilePath compiles a pattern for paths from the start. Behind a leading **/, one
// without another slash is for names.
func compilePath(s string) (namePattern, error) {
	name, anyDepth := strings.CutPrefix(s, "**/")
	byName := anyDepth && name != "" && !strings.Contains(name, "/")
	if byName {
		s = name
	}
	p, err := glob.Compile(s)
	return namePattern{glob: p, given: true, byName: byName}, err
}

// byComponent is a path for comparing in the order of the walk: component by component,
// so that a directory comes before what is in it, and that before its next sibling.
func byComponent(rel string) string { return strings.ReplaceAll(rel, "/", "\x00") }

// Text is a path a line, and what was searched and left out.
func (o findOut) Text() string {
	var b strings.Builder
	for _, p := range o.Paths {
		b.WriteString(text.Escape(p) + "\n")
	}
	switch {
	case o.Truncated:
		fmt.Fprintf(&b, "[the first %d; go on with cursor=%s]\n", len(o.Paths), o.NextCursor)
	case len(o.Paths) == 0 && o.pattern != "":
		fmt.Fprintf(&b, "[nothing matches %q among %d entries; a pattern matches a whole name, so try *%s*, or recursive]\n",
			o.pattern, o.Looked, strings.Trim(o.pattern, "*"))
	}
	b.WriteString(o.Skipped.note())
	return b.String()
}
