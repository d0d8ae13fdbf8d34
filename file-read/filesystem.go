package main

import (
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The vocabulary of @modelcontextprotocol/server-filesystem: names, parameters
// and result texts of its reading tools (version 2026.8). Where that server has a
// fault (a tail that is off by one, binaries as mangled text, no cap on an answer)
// ours does right; the README has the table of differences.

var (
	fsReadFileSpec  = fsSpec("read_file", "Read File (Deprecated)", "read", "Read a text file. Deprecated: use read_text_file.")
	fsReadTextSpec  = fsSpec("read_text_file", "Read Text File", "read", "Read a text file, or its first (head) or last (tail) lines.")
	fsReadMediaSpec = fsSpec("read_media_file", "Read Media File", "read", "Read an image, audio or other file as base64 with its MIME type.")
	fsReadManySpec  = fsSpec("read_multiple_files", "Read Multiple Files", "read", "Read several text files at once; one that fails does not fail the others.")
	fsListSpec      = fsSpec("list_directory", "List Directory", "list", "List a directory, [FILE] or [DIR] before each name.")
	fsListSizesSpec = fsSpec("list_directory_with_sizes", "List Directory with Sizes", "list", "List a directory with sizes and a summary.")
	fsTreeSpec      = fsSpec("directory_tree", "Directory Tree", "list", "A recursive tree of files and directories as JSON.")
	fsSearchSpec    = fsSpec("search_files", "Search Files", "search", "Find files and directories by a glob on the path from the start: *.ext here, **/*.ext at any depth.")
	fsInfoSpec      = fsSpec("get_file_info", "Get File Info", "list", "Size, times, type and permissions of a file or directory.")
	fsAllowedSpec   = fsSpec("list_allowed_directories", "List Allowed Directories", "list", "The directories that this server may read.")
)

func fsSpec(name, title, toolset, doc string) toolkit.Spec {
	return toolkit.Spec{Name: name, Title: title, Doc: doc, Toolset: toolset, Effect: toolkit.Reads}
}

// fsOut is the shape of all results but one: the text, twice.
type fsOut struct {
	Content string `json:"content"`
}

// Text is the content.
func (o fsOut) Text() string { return o.Content }

type fsPathIn struct {
	Path string `json:"path" path:"read"`
}
