package main

import (
	"context"
	"os"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var moveSpec = toolkit.Spec{
	Name:  "move_file",
	Title: "Move or rename",
	Doc: "Move or rename a file or directory. destination is its new path, not the directory to put it into; " +
		"missing directories are made.",
	Toolset:     "manage",
	Effect:      toolkit.Writes,
	Destructive: true,
}

type moveIn struct {
	Source      string `json:"source" path:"write" doc:"File or directory."`
	Destination string `json:"destination" path:"write" doc:"Its new path."`
	Overwrite   bool   `json:"overwrite,omitempty" default:"false" doc:"Replace a file that is there."`
}

type moveOut struct {
	Success     bool   `json:"success"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Replaced    bool   `json:"replaced,omitempty"`
	ChangeID    string `json:"changeId,omitempty" doc:"For restore_file: moves back."`
	ReplacedID  string `json:"replacedId,omitempty" doc:"For restore_file: what was replaced."`

	verb string
}

func (w *writer) move(ctx context.Context, in moveIn) (moveOut, error) {
	from, to, err := w.pair(ctx, in.Source, in.Destination)
	if err != nil {
		return moveOut{}, err
	}
	if _, err := from.Stat(); err != nil {
		return moveOut{}, err // before anything is made for it
	}
	var out moveOut
	err = w.withParents(ctx, to, func() (err error) {
		out, err = w.rename(ctx, from, to, in.Overwrite)
		return err
	})
	return out, onDirectory(from, to, err)
}

func (w *writer) pair(ctx context.Context, source, destination string) (from, to confine.Path, err error) {
	if from, err = w.path(ctx, source); err != nil {
		return from, to, err
	}
	to, err = w.path(ctx, destination)
	return from, to, err
}

// rename moves, and keeps how to move back and what was replaced.
func (w *writer) rename(ctx context.Context, from, to confine.Path, overwrite bool) (moveOut, error) {
	back, lost := w.undoing(ctx, "move", from), w.undoing(ctx, "overwrite", to)
	back.change.To = to.Abs()
	if err := back.keep(ctx, nil, confine.Info{}); err != nil {
		return moveOut{}, err
	}
	res, err := w.files.Move(ctx, from, to, replace.MoveOptions{
		Overwrite: overwrite,
		Replaced:  func(f *os.File, info confine.Info) error { return lost.keep(ctx, f, info) },
	})
	return moveOut{
		Success: err == nil, Source: from.String(), Destination: to.String(), verb: "Moved",
		Replaced: res.Replaced, ChangeID: back.ended(ctx, err), ReplacedID: lost.ended(ctx, err),
	}, err
}

// Text is what happened in a line.
func (o moveOut) Text() string {
	s := o.verb + ": " + text.Escape(o.Source) + " to " + text.Escape(o.Destination)
	if o.Replaced {
		s += ", which was replaced"
	}
	return s + "\n"
}
