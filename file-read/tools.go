package main

import (
	"context"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(r *reader) []command.Vocabulary {
	return []command.Vocabulary{
		{Name: "standard", Doc: "the names of documents 000 and 002, with line ranges, pages and context", Tools: r.standardTools},
		{Name: "local-file", Doc: "document 002 to the letter: results as FastMCP gives them", FailurePrefix: "Error: ", Tools: r.localFileTools},
		{Name: "agent", Doc: "document 004 to the letter: relative paths only", Tools: r.agentTools},
		{Name: "filesystem", Doc: "drop-in for the reading tools of @modelcontextprotocol/server-filesystem", Tools: r.filesystemTools},
	}
}

// tool is a tool of this server: all of them only read.
func tool[In, Out any](toolset, name, title, doc string, do func(context.Context, In) (Out, error)) toolkit.Tool {
	return toolkit.New(toolkit.Spec{Name: name, Title: title, Doc: doc, Toolset: toolset, Effect: toolkit.Reads}, do)
}

func (r *reader) standardTools() []toolkit.Tool {
	return []toolkit.Tool{
		tool("read", "file_read", "Read a file",
			"Read a text file, whole or by lines. Any common encoding is decoded. Large files come in parts: go on at nextOffset.", r.read),
		tool("read", "read_multiple_files", "Read several files",
			"Read several text files at once. One that cannot be read does not fail the others.", r.readMany),
		tool("list", "list_directory", "List a directory", "List what lies directly in a directory, a page at a time.", r.list),
		tool("list", "directory_tree", "Show a directory tree",
			"Show directories and files as an indented tree. What .gitignore excludes is left out, counted.", r.tree),
		tool("list", "get_file_info", "Describe a file",
			"Describe a file or directory: type, size, times, permissions, MIME type, encoding, lines.", r.info),
		tool("list", "list_allowed_directories", "List the allowed directories",
			"List the directories that may be read. A relative path means the first of them in which it exists.", r.listAllowed),
		tool("search", "find_files_by_pattern", "Find files by name",
			"Find files and directories whose name or path matches a glob.", r.find),
		tool("search", "search_content_in_files", "Search in files",
			"Search file contents with a regular expression (RE2). Answers path:line:text, in path order.", r.search),
	}
}

// localFileTools are the operations of this server under the names, parameters and result
// shapes of document 002.
func (r *reader) localFileTools() []toolkit.Tool {
	return []toolkit.Tool{
		tool("read", "read_local_file", "Read a file", "Read a text file beneath the allowed directories.", r.localRead),
		tool("list", "list_directory", "List a directory", "List the names of what lies directly in a directory.", r.localList),
		tool("search", "find_files_by_pattern", "Find files by name",
			"Find files and directories whose name matches a glob such as *.py.", r.localFind),
		tool("search", "search_content_in_files", "Search in files",
			"Search file contents with a regular expression (RE2), line by line. Answers path:line:text.", r.localSearch),
	}
}

// agentTools are those of document 004. Paths are relative to the first allowed
// directory; the Roots of this vocabulary reject absolute ones and "..".
func (r *reader) agentTools() []toolkit.Tool {
	return []toolkit.Tool{
		tool("read", "read_file", "Read a file", "Read a text file.", r.agentRead),
		tool("list", "list_files", "List files", "List the directories and files in a directory.", r.agentList),
		tool("search", "glob", "Find files by name", "Find files by a glob: *.txt, **/*.rs, src/**/*.rs.", r.agentGlob),
		tool("search", "grep", "Search in files",
			"Search file contents with a regular expression (RE2). Answers path:line:text.", r.agentGrep),
	}
}

// filesystemTools are the reading tools of @modelcontextprotocol/server-filesystem, with
// its names, parameters and result texts (version 2026.8). Its bugs are not copied (a tail
// that is off by one, binaries as mangled text, no cap on an answer); the README has the
// table of differences.
func (r *reader) filesystemTools() []toolkit.Tool {
	return []toolkit.Tool{
		tool("read", "read_file", "Read File (Deprecated)", "Read a text file. Deprecated: use read_text_file.", r.fsRead),
		tool("read", "read_text_file", "Read Text File", "Read a text file, or its first (head) or last (tail) lines.", r.fsRead),
		tool("read", "read_media_file", "Read Media File",
			"Read an image, audio or other file as base64 with its MIME type.", r.fsReadMedia),
		tool("read", "read_multiple_files", "Read Multiple Files",
			"Read several text files at once; one that fails does not fail the others.", r.fsReadMany),
		tool("list", "list_directory", "List Directory", "List a directory, [FILE] or [DIR] before each name.", r.fsList),
		tool("list", "list_directory_with_sizes", "List Directory with Sizes", "List a directory with sizes and a summary.", r.fsListSizes),
		tool("list", "directory_tree", "Directory Tree", "A recursive tree of files and directories as JSON.", r.fsTree),
		tool("search", "search_files", "Search Files",
			"Find files and directories by a glob on the path from the start: *.ext here, **/*.ext at any depth.", r.fsSearch),
		tool("list", "get_file_info", "Get File Info", "Size, times, type and permissions of a file or directory.", r.fsInfo),
		tool("list", "list_allowed_directories", "List Allowed Directories", "The directories that this server may read.", r.fsAllowed),
	}
}
