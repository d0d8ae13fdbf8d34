package main

import (
	"context"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabulary of document 004. Paths are relative to the first allowed
// directory; absolute ones and ".." are refused by the Roots of this vocabulary.

var (
	agentReadSpec = toolkit.Spec{
		Name: "read_file", Title: "Read a file", Toolset: "read", Effect: toolkit.Reads,
		Doc: "Read a text file.",
	}
	agentListSpec = toolkit.Spec{
		Name: "list_files", Title: "List files", Toolset: "list", Effect: toolkit.Reads,
		Doc: "List the directories and files in a directory.",
	}
	agentGlobSpec = toolkit.Spec{
		Name: "glob", Title: "Find files by name", Toolset: "search", Effect: toolkit.Reads,
		Doc: "Find files by a glob: *.txt, **/*.rs, src/**/*.rs.",
	}
	agentGrepSpec = toolkit.Spec{
		Name: "grep", Title: "Search in files", Toolset: "search", Effect: toolkit.Reads,
		Doc: "Search file contents with a regular expression (RE2). Answers path:line:text.",
	}
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
	got, err := r.find(ctx, findIn{Base: in.Path, Pattern: in.Pattern, Type: "file", Gitignore: true, MaxResults: 1000})
	return stringResult{strings.TrimSuffix(got.Text(), "\n")}, err
}

type agentGrepIn struct {
	Pattern string `json:"pattern" doc:"RE2 regular expression."`
	Path    string `json:"path,omitempty" path:"read" default:"." doc:"Relative path of the directory or file."`
	Glob    string `json:"glob,omitempty" doc:"Only these files, e.g. *.rs"`
}

func (r *reader) agentGrep(ctx context.Context, in agentGrepIn) (stringResult, error) {
	got, err := r.search(ctx, searchIn{Path: in.Path, Regex: in.Pattern, Glob: in.Glob, Recursive: true, Gitignore: true, MaxResults: 200, Output: "lines"})
	return stringResult{got.Text()}, err
}
