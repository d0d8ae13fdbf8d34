package main

import (
	"context"
	"errors"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
)

// program is what the command line makes this server of.
func program() command.Program {
	return command.Program{
		Name:    "file-read",
		Title:   "Read files",
		Doc:     "An MCP server that reads, lists, finds and searches files beneath the directories you allow. It cannot write.",
		Version: version,
		Flags: []settings.Flag{
			{Name: "max-read-bytes", Kind: settings.Size, Default: "128KiB", Doc: "bytes of content in one answer"},
			{Name: "search-index", Kind: settings.Size, Default: "64MiB", Max: 4 << 30,
				Doc: "bytes of memory for what was searched, which makes the next search of it quick; 0 for none"},
			{Name: "allow-mime", Kind: settings.List, Doc: "MIME types of binaries that may be read too, e.g. image/png or image/*"},
		},
		Defaults: func(s *settings.Set) { // what a vocabulary changes for those who set nothing else
			switch s.Text("vocabulary") {
			case "agent": // document 004: ten calls a minute, no paths of the host in messages
				s.SetDefault("rate-limit", "10/1m")
				s.SetDefault("hide-paths", "true")
			case "filesystem": // its read_media_file reads any file
				s.SetDefault("allow-mime", "*/*")
			}
		},
		Open: open,
	}
}

func open(_ context.Context, s *settings.Set, own command.Own) (*command.Service, error) {
	roots, scope, err := command.OpenDirectories(s, own.Files, s.Text("vocabulary") == "agent")
	if err != nil {
		return nil, err
	}
	indexing, err := newIndexing(s.Size("search-index"))
	if err != nil {
		return nil, errors.Join(err, roots.Close())
	}
	r := &reader{
		scope:    scope,
		indexing: indexing,
		maxBytes: int(s.Size("max-read-bytes")),
		media:    s.List("allow-mime"),
		places:   lines.NewLineIndex(time.Now),
		buffers:  new(match.Buffers),
	}
	return &command.Service{
		Roots:        roots,
		Vocabularies: vocabularies(r),
		Resources:    resources(r),
		Instructions: "Reads files beneath the allowed directories; list_allowed_directories names them. " +
			"Large answers come in parts: follow nextOffset, nextCursor or cursor. " +
			"What was left out (ignored, binary, unreadable) is always counted.",
		Restrict: restrict.Rules{Read: roots.Dirs()},
		Start:    indexing.start,
		Close:    indexing.close,
	}, nil
}
