package main

import (
	"context"
	"errors"
	"io"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var restoreSpec = toolkit.Spec{
	Name:  "restore_file",
	Title: "Undo a change",
	Doc: "Put back what was there before a change: a file's content, what was deleted, or what was moved. " +
		"What is there now is kept too.",
	Toolset:     "history",
	Effect:      toolkit.Writes,
	Destructive: true,
}

type restoreIn struct {
	ID     string `json:"change_id" doc:"changeId or trashId of an answer, or from list_changes."`
	DryRun bool   `json:"dry_run,omitempty" default:"false" doc:"Only show what would change."`
}

type restoreOut struct {
	Success  bool   `json:"success"`
	Path     string `json:"path" doc:"What was put back."`
	From     string `json:"from,omitempty" doc:"Where it was moved back from."`
	Files    int    `json:"files" doc:"Put back."`
	SHA256   string `json:"sha256,omitempty" doc:"Of the file."`
	Diff     string `json:"diff,omitempty" doc:"Unified."`
	DiffCut  bool   `json:"diffTruncated,omitempty"`
	ChangeID string `json:"changeId,omitempty" doc:"For undoing this."`
	DryRun   bool   `json:"dryRun,omitempty"`
	Note     string `json:"note,omitempty"`
}

func (w *writer) restore(ctx context.Context, in restoreIn) (restoreOut, error) {
	past, err := w.kept()
	if err != nil {
		return restoreOut{}, err
	}
	c, err := past.Get(in.ID)
	if err != nil {
		return restoreOut{}, err
	}
	p, err := w.recorded(ctx, c.Path)
	if err != nil {
		return restoreOut{}, err
	}
	toolkit.Touches(ctx, p.Abs())
	out := &restoreOut{Success: true, Path: p.String(), DryRun: in.DryRun}
	if c.To != "" {
		err = w.moveBack(ctx, p, c, out)
		return *out, err
	}

	// What was kept is read to its end first: only then is it known to be intact.
	large := c.Tree || c.Bytes > replace.MaxBytes
	var content []byte
	if c.Tree {
		if _, err := p.Stat(); err == nil {
			return *out, exists(p, nil)
		}
	}
	kept, _, err := past.Content(c.ID)
	if err != nil {
		return *out, err
	}
	if large {
		_, err = io.Copy(io.Discard, kept)
	} else {
		content, err = io.ReadAll(kept)
	}
	if err = errors.Join(err, kept.Close()); err != nil {
		return *out, err
	}

	if large {
		err = w.restoreLarge(ctx, p, c, out)
	} else {
		err = w.restoreFile(ctx, p, c, content, out)
	}
	return *out, err
}

// recorded checks a path that was recorded like any other. The client has named the
// change only, so a refusal does not name the path.
func (w *writer) recorded(ctx context.Context, path string) (confine.Path, error) {
	roots, err := w.scope.Roots(ctx)
	if err != nil {
		return confine.Path{}, err
	}
	if !allowed(roots, path) {
		return confine.Path{}, fault.New(fault.OutsideAllowed, "the change is one of a path that is not allowed any more",
			"Use list_changes to see what can be restored")
	}
	return operators(roots, path), nil
}

func (w *writer) moveBack(ctx context.Context, p confine.Path, c history.Change, out *restoreOut) error {
	from, err := w.recorded(ctx, c.To)
	if err != nil {
		return err
	}
	toolkit.Touches(ctx, from.Abs())
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if out.From, out.Files = from.String(), 1; info.Type == confine.Directory {
		out.Files = 0
	}
	if out.DryRun {
		if _, err := p.Stat(); err == nil {
			return exists(p, nil)
		}
		return nil
	}
	return w.withParents(ctx, p, func() error {
		back, err := w.rename(ctx, from, p, false)
		out.ChangeID = back.ChangeID
		return err
	})
}

// restoreLarge unpacks a directory, or puts back a file that is too large to be compared
// with another, where nothing is.
func (w *writer) restoreLarge(ctx context.Context, p confine.Path, c history.Change, out *restoreOut) error {
	if out.DryRun && c.Tree {
		return nil
	}
	if out.DryRun {
		out.Files = 1
		return w.wouldCreate(p, nil)
	}
	if c.Tree {
		packed, _, err := w.past.Content(c.ID)
		if err != nil {
			return err
		}
		defer packed.Close()
		count, err := history.Unpack(ctx, packed, p, c.Mode.Perm(), w.files)
		out.Files = count.Files
		if count.Executable > 0 {
			out.Note = "Files that could be executed cannot be any more: this server sets no executable bit."
		}
		return err
	}
	out.Files = 1
	return w.withParents(ctx, p, func() error {
		content, _, err := w.past.Content(c.ID)
		if err != nil {
			return err
		}
		defer content.Close()
		res, err := w.files.CreateFrom(ctx, p, content, replace.Options{Mode: c.Mode.Perm()})
		out.SHA256 = res.SHA256
		out.executable(c)
		return err
	})
}

// restoreFile puts a file's content back, in the place of what is there now or where
// nothing is.
func (w *writer) restoreFile(ctx context.Context, p confine.Path, c history.Change, content []byte, out *restoreOut) error {
	out.Files = 1
	var err error
	for range maxTries {
		var done changed
		done, err = w.change(ctx, "restore", p, out.DryRun, func(old []byte, _ confine.Info) ([]byte, error) {
			out.Diff, out.DiffCut = difference(p, detect(old), old, content)
			return content, nil
		})
		out.SHA256, out.ChangeID = done.SHA256, done.ChangeID
		if !errors.Is(err, fault.NotFound) {
			return err
		}
		if out.DryRun {
			out.SHA256 = c.SHA256
			return w.wouldCreate(p, content)
		}
		err = w.withParents(ctx, p, func() error {
			res, err := w.files.Create(ctx, p, content, replace.Options{Mode: c.Mode.Perm()})
			out.SHA256 = res.SHA256
			return err
		})
		if !errors.Is(err, fault.Exists) {
			out.executable(c)
			return err
		}
	}
	return err
}

func (o *restoreOut) executable(c history.Change) {
	if c.Mode&0o111 != 0 {
		o.Note = "It could be executed and cannot be any more: this server sets no executable bit."
	}
}

// Text is what happened in a line, and the difference.
func (o restoreOut) Text() string {
	s := "Restored: " + text.Escape(o.Path)
	if o.From != "" {
		s += " from " + text.Escape(o.From)
	}
	return report(s, o.DryRun, o.Note, o.Diff, o.DiffCut)
}
