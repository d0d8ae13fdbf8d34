package main

import (
	"context"
	"errors"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var (
	directorySpec = toolkit.Spec{
		Name:       "create_directory",
		Title:      "Create a directory",
		Doc:        "Make a directory and the directories above it that are missing. One that exists is no error.",
		Toolset:    "manage",
		Effect:     toolkit.Writes,
		Idempotent: true,
	}
	allowedSpec = toolkit.Spec{
		Name:    "list_allowed_directories",
		Title:   "List the allowed directories",
		Doc:     "List the directories that may be written. A relative path means the first of them in which it exists, or the first.",
		Toolset: "manage",
		Effect:  toolkit.Reads,
	}
)

type directoryIn struct {
	Path string `json:"path" path:"write" doc:"Directory."`
}

type directoryOut struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

func (w *writer) createDirectory(ctx context.Context, in directoryIn) (directoryOut, error) {
	p, err := w.path(ctx, in.Path)
	if err != nil {
		return directoryOut{}, err
	}
	made, err := w.files.MakeDirs(ctx, p)
	return directoryOut{Path: p.String(), Created: len(made) > 0}, err
}

// Text is what happened in a line.
func (o directoryOut) Text() string {
	if o.Created {
		return "Created: " + text.Escape(o.Path) + "\n"
	}
	return "There already: " + text.Escape(o.Path) + "\n"
}

type allowedIn struct{}

func (w *writer) listAllowed(ctx context.Context, _ allowedIn) (command.Directories, error) {
	return command.ListDirectories(ctx, w.scope, "write")
}

// onDirectory explains why nothing went to a destination that is a directory.
func onDirectory(from, to confine.Path, err error) error {
	refused := errors.Is(err, fault.Exists) || errors.Is(err, fault.ParamInvalid)
	if !refused || from.Abs() == to.Abs() {
		return err
	}
	if info, failed := to.Stat(); failed != nil || info.Type != confine.Directory {
		return err
	}
	return fault.New(fault.Exists, text.Escape(to.String())+" is a directory that exists",
		"Name the new path in it: "+text.Escape(to.Child(from.Base()).String())).With("path", to.String()).Because(err)
}
