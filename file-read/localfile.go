package main

import (
	"context"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// stringResult is how FastMCP answers a function that returns str.
type stringResult struct {
	Result string `json:"result"`
}

// Text is the string itself.
func (s stringResult) Text() string { return s.Result }

// listResult is how FastMCP answers a function that returns list[str].
type listResult struct {
	Result []string `json:"result"`
}

// Contents is a block for each element.
func (l listResult) Contents() []toolkit.Content {
	blocks := make([]toolkit.Content, 0, len(l.Result))
	for _, s := range l.Result {
		blocks = append(blocks, toolkit.TextBlock(s))
	}
	return blocks
}

type localReadIn struct {
	Path string `json:"file_path" path:"read" doc:"File: absolute, or relative to an allowed directory."`
}

func (r *reader) localRead(ctx context.Context, in localReadIn) (stringResult, error) {
	got, err := r.read(ctx, readIn{Path: in.Path})
	return stringResult{got.oneText()}, err
}

type localListIn struct {
	Dir string `json:"dir_path" path:"read" doc:"Directory."`
}

// everything is the limit of vocabularies that have no pages.
const everything = 1 << 30

func (r *reader) localList(ctx context.Context, in localListIn) (listResult, error) {
	got, err := r.list(ctx, listIn{Dir: in.Dir, Hidden: true, Sort: "name", Limit: everything})
	names := make([]string, 0, len(got.Entries))
	for _, e := range got.Entries {
		names = append(names, e.Name)
	}
	return listResult{names}, err
}

type localFindIn struct {
	Base      string `json:"base_dir" path:"read" doc:"Directory to start from."`
	Pattern   string `json:"pattern" doc:"Glob, e.g. *.py"`
	Recursive bool   `json:"recursive,omitempty" default:"false" doc:"Also below subdirectories."`
}

func (r *reader) localFind(ctx context.Context, in localFindIn) (listResult, error) {
	got, err := r.find(ctx, findIn{Base: in.Base, Glob: in.Pattern, Recursive: in.Recursive, Type: "any", MaxResults: everything})
	return listResult{got.Paths}, err
}

type localSearchIn struct {
	Path       string `json:"search_path" path:"read" doc:"File or directory."`
	Regex      string `json:"regex_pattern" doc:"RE2 regular expression."`
	Recursive  bool   `json:"recursive,omitempty" default:"false" doc:"Also below subdirectories."`
	MaxResults int    `json:"max_results,omitempty" default:"50" min:"1" max:"10000" doc:"Matching lines."`
}

func (r *reader) localSearch(ctx context.Context, in localSearchIn) (listResult, error) {
	got, err := r.search(ctx, searchIn{Path: in.Path, Regex: in.Regex, Recursive: in.Recursive, MaxResults: in.MaxResults, Output: "lines"})
	return listResult{got.Matches}, err
}
