package main

import (
	"context"
	"fmt"
	"os"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var deleteSpec = toolkit.Spec{
	Name:        "delete_file",
	Title:       "Delete",
	Doc:         "Delete a file or directory. It goes to the trash: restore_file brings it back.",
	Toolset:     "delete",
	Effect:      toolkit.Writes,
	Destructive: true,
}

type deleteIn struct {
	Path      string `json:"path" path:"write" doc:"File or directory."`
	Recursive bool   `json:"recursive,omitempty" default:"false" doc:"Also a directory that is not empty."`
}

type deleteOut struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
	TrashID string `json:"trashId" doc:"For restore_file."`
	Files   int    `json:"files" doc:"Deleted."`
	Written int64  `json:"bytes" doc:"Deleted."`
}

func (w *writer) delete(ctx context.Context, in deleteIn) (deleteOut, error) {
	p, err := w.path(ctx, in.Path)
	if err != nil {
		return deleteOut{}, err
	}
	out := deleteOut{Success: true, Path: p.String()}
	u := w.undoing(ctx, "delete", p)
	top, err := p.Stat() // what cannot be seen is no directory
	if err == nil && top.Type == confine.Directory {
		u.change.Tree = true
		err = w.files.RemoveTree(ctx, p, func(d *confine.Dir, all replace.Tree) error {
			if !in.Recursive && all.Files+all.Dirs+all.Links > 0 {
				return fault.New(fault.ParamInvalid,
					fmt.Sprintf("%s is not empty: it holds %d files, %d directories and %d links", text.Escape(out.Path), all.Files, all.Dirs, all.Links),
					"Set recursive to delete all of it").With("path", out.Path)
			}
			out.Files, out.Written = all.Files, all.Bytes
			packed := history.Reader(ctx, d)
			defer packed.Close()
			if err := u.keep(ctx, packed, top); err != nil {
				return err
			}
			if kept := packed.Count(); kept.Files != all.Files || kept.Dirs != all.Dirs || kept.Links != all.Links {
				return fault.New(fault.Unavailable, text.Escape(out.Path)+" changed while it was kept", "Try again").With("path", out.Path)
			}
			return nil
		})
	} else {
		err = w.files.Remove(ctx, p, func(f *os.File, info confine.Info) error {
			out.Files, out.Written = 1, info.Size
			return u.keep(ctx, f, info)
		})
	}
	out.TrashID = u.ended(ctx, err)
	return out, err
}

// Text is what happened in a line.
func (o deleteOut) Text() string {
	return fmt.Sprintf("Deleted: %s (files: %d, bytes: %d), in the trash as %s\n", text.Escape(o.Path), o.Files, o.Written, o.TrashID)
}

// Bytes is recorded in the audit log.
func (o deleteOut) Bytes() int64 { return o.Written }
