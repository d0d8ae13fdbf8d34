package main

import (
	"context"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabulary of document 002: the operations of this server under the names,
// parameters and result shapes given there.

var (
	localReadSpec = toolkit.Spec{
		Name: "read_local_file", Title: "Read a file", Toolset: "read", Effect: toolkit.Reads,
		Doc: "Read a text file beneath the allowed directories.",
	}
	localListSpec = toolkit.Spec{
		Name: "list_directory", Title: "List a directory", Toolset: "list", Effect: toolkit.Reads,
		Doc: "List the names of what lies directly in a directory.",
	}
	localFindSpec = toolkit.Spec{
		Name: "find_files_by_pattern", Title: "Find files by name", Toolset: "search", Effect: toolkit.Reads,
		Doc: "Find files and directories whose name matches a glob such as *.py.",
	}
	localSearchSpec = toolkit.Spec{
		Name: "search_content_in_files", Title: "Search in files", Toolset: "search", Effect: toolkit.Reads,
		Doc: "Search file contents with a regular expression (RE2), line by line. Answers path:line:text.",
	}
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

// oneText is content and note in one string, for vocabularies that have no other
// place to say that there is more.
func (o readOut) oneText() string {
	if note := o.note(); note != "" {
		return o.Content + "\n" + note
	}
	return o.Content
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
	got, err := r.find(ctx, findIn{Base: in.Base, Pattern: in.Pattern, Recursive: in.Recursive, Type: "any", MaxResults: everything})
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
