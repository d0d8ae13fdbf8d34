package main

import (
	"context"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
)

type agentReadIn struct {
	Path string `json:"path" path:"read" doc:"Relative path of the file."`
}

func (r *reader) agentRead(ctx context.Context, in agentReadIn) (stringResult, error) {
	got, err := r.read(ctx, readIn{Path: in.Path})
	return stringResult{got.oneText()}, err
}

type agentListIn struct {
	Path string `json:"path,omitempty" path:"read" default:"." doc:"Relative path of the directory."`
}

func (r *reader) agentList(ctx context.Context, in agentListIn) (stringResult, error) {
	got, err := r.list(ctx, listIn{Dir: in.Path, Hidden: true, Sort: "name", Limit: everything})
	if err != nil {
		return stringResult{}, err
	}
	var dirs, files strings.Builder
	for _, e := range got.Entries {
		name := text.Escape(e.Name)
		if e.Type == "directory" {
			dirs.WriteString("  " + name + "/\n")
		} else {
			files.WriteString("  " + name + "\n")
		}
	}
	return stringResult{"Directories:\n" + dirs.String() + "\nFiles:\n" + files.String()}, nil
}

type agentGlobIn struct {
	Pattern string `json:"pattern" doc:"Glob."`
	Path    string `json:"path,omitempty" path:"read" default:"." doc:"Relative path of the directory to start from."`
}

func (r *reader) agentGlob(ctx context.Context, in agentGlobIn) (stringResult, error) {
	got, err := r.find(ctx, findIn{Base: in.Path, Glob: in.Pattern, Type: "file", Gitignore: true, MaxResults: 1000})
	return stringResult{strings.TrimSuffix(got.Text(), "\n")}, err
}

type agentGrepIn struct {
	Pattern string `json:"pattern" doc:"RE2 regular expression."`
	Path    string `json:"path,omitempty" path:"read" default:"." doc:"Relative path of the directory or file."`
	Glob    string `json:"glob,omitempty" doc:"Only these files, e.g. *.rs"`
}

func (r *reader) agentGrep(ctx context.Context, in agentGrepIn) (stringResult, error) {
	got, err := r.search(ctx, searchIn{
		Path: in.Path, Regex: in.Pattern, Glob: in.Glob, Recursive: true, Gitignore: true, MaxResults: 200, Output: "lines",
	})
	return stringResult{got.Text()}, err
}
