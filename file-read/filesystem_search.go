package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
	"github.com/multiollama/mcp-server/shared/glob"
	"github.com/multiollama/mcp-server/shared/text"
)

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
	var exclude []glob.Pattern
	for _, s := range in.Exclude {
		e, err := glob.Compile(s)
		if err != nil {
			return fsOut{}, err
		}
		exclude = append(exclude, e)
	}
	var paths []string
	_, err = walk.All(ctx, p, walk.Options{Recursive: true, Hidden: true, Exclude: exclude}, func(_ context.Context, f walk.File) bool {
		return pattern.matches(f)
	}, func(f walk.File, matches bool) bool {
		if matches {
			paths = append(paths, text.Escape(f.Path().Abs()))
		}
		return true
	})
	return fsOut{cmp.Or(strings.Join(paths, "\n"), "No matches found")}, err
}
