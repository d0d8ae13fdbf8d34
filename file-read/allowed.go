package main

import (
	"context"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var allowedSpec = toolkit.Spec{
	Name:    "list_allowed_directories",
	Title:   "List the allowed directories",
	Doc:     "List the directories that may be read. A relative path means the first of them in which it exists.",
	Toolset: "list",
	Effect:  toolkit.Reads,
}

type allowedIn struct{}

func (r *reader) listAllowed(ctx context.Context, _ allowedIn) (command.Directories, error) {
	return command.ListDirectories(ctx, r.scope, "read")
}
