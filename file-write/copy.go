package main

import (
	"context"
	"errors"
	"io"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var copySpec = toolkit.Spec{
	Name:        "copy_file",
	Title:       "Copy a file",
	Doc:         "Copy a file. destination is the new path; missing directories are made.",
	Toolset:     "manage",
	Effect:      toolkit.Writes,
	Destructive: true,
}

type copyIn struct {
	Source      string `json:"source" path:"read" doc:"File."`
	Destination string `json:"destination" path:"write" doc:"Path of the copy."`
	Overwrite   bool   `json:"overwrite,omitempty" default:"false" doc:"Replace a file that is there."`
}

// copy makes a new file with the content of another, and no more permissions than
// that. What is replaced keeps its own.
func (w *writer) copy(ctx context.Context, in copyIn) (moveOut, error) {
	from, to, err := w.pair(ctx, in.Source, in.Destination)
	if err != nil {
		return moveOut{}, err
	}
	if _, err := from.Stat(); err != nil {
		return moveOut{}, err // before anything is made for it
	}
	out := moveOut{Success: true, Source: from.String(), Destination: to.String(), verb: "Copied"}
	for range maxTries {
		err = w.withParents(ctx, to, func() error {
			f, info, err := from.Open()
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = w.files.CreateFrom(ctx, to, f, replace.Options{Mode: info.Mode.Perm()})
			return err
		})
		if !errors.Is(err, fault.Exists) || !in.Overwrite {
			return out, onDirectory(from, to, err)
		}
		out.ReplacedID, err = w.copyOver(ctx, from, to)
		if !errors.Is(err, fault.NotFound) {
			out.Replaced = err == nil
			return out, err
		}
	}
	return moveOut{}, fault.New(fault.Unavailable, text.Escape(to.String())+" comes and goes all the time", "Try again later")
}

func (w *writer) copyOver(ctx context.Context, from, to confine.Path) (changeID string, err error) {
	f, info, err := from.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, replace.MaxBytes+1)) // one too many is refused by Update
	if err != nil {
		return "", err
	}
	done, err := w.change(ctx, "overwrite", to, false, func(_ []byte, there confine.Info) ([]byte, error) {
		if there.Stamp.SameFile(info.Stamp) {
			return nil, fault.New(fault.ParamInvalid, "source and destination are the same file", "Name another destination")
		}
		return content, nil
	})
	return done.ChangeID, err
}
