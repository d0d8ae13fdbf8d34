package main

import (
	"context"
	"errors"
	"io"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/file-write/internal/tree"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var restoreSpec = toolkit.Spec{
	Name:        "restore_file",
	Title:       "Undo a change",
	Doc:         "Put back what was there before a change: a file's content, what was deleted, or what was moved. What is there now is kept too.",
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
	out := restoreOut{Success: true, Path: p.String(), DryRun: in.DryRun}
	switch {
	case c.To != "":
		err = w.moveBack(ctx, p, c, &out)
	case c.Tree:
		err = w.restoreTree(ctx, p, c, &out)
	default:
		err = w.restoreFile(ctx, p, c, &out)
	}
	return out, err
}

// recorded judges a path that was recorded like any other. The client has named the
// change only, so a refusal does not tell the path.
func (w *writer) recorded(ctx context.Context, path string) (confine.Path, error) {
	roots, err := w.scope.Roots(ctx)
	if err != nil {
		return confine.Path{}, err
	}
	if !allowed(roots, path) {
		return confine.Path{}, fault.New(fault.OutsideAllowed, "the change is one of a path that is not allowed any more", "Use list_changes to see what can be restored")
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

// restoreTree unpacks a directory where none is. What was kept is read to its end
// first: only then is it known to be whole.
func (w *writer) restoreTree(ctx context.Context, p confine.Path, c history.Change, out *restoreOut) error {
	if _, err := p.Stat(); err == nil {
		return exists(p, nil)
	}
	if err := w.verified(c); err != nil || out.DryRun {
		return err
	}
	packed, _, err := w.past.Content(c.ID)
	if err != nil {
		return err
	}
	defer packed.Close()
	count, err := tree.Unpack(ctx, packed, p, c.Mode.Perm(), w.files)
	out.Files = count.Files
	if count.Executable > 0 {
		out.Note = "Files that could be executed cannot be any more: this server sets no executable bit."
	}
	return err
}

func (w *writer) verified(c history.Change) error {
	content, _, err := w.past.Content(c.ID)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content)
	return errors.Join(err, content.Close())
}

// restoreFile puts a file's content back, in the place of what is there now or where
// nothing is.
func (w *writer) restoreFile(ctx context.Context, p confine.Path, c history.Change, out *restoreOut) error {
	out.Files = 1
	if c.Bytes > replace.MaxBytes {
		return w.restoreLarge(ctx, p, c, out)
	}
	content, err := w.content(c)
	if err != nil {
		return err
	}
	for range mostTries {
		err = w.restoreOver(ctx, p, content, out)
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

// content is what was kept, read to its end and so known to be whole.
func (w *writer) content(c history.Change) ([]byte, error) {
	r, _, err := w.past.Content(c.ID)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	return content, errors.Join(err, r.Close())
}

func (w *writer) restoreOver(ctx context.Context, p confine.Path, content []byte, out *restoreOut) error {
	done, err := w.change(ctx, "restore", p, out.DryRun, func(old []byte, _ confine.Info) ([]byte, error) {
		out.Diff, out.DiffCut = difference(p, detect(old), old, content)
		return content, nil
	})
	out.SHA256, out.ChangeID = done.SHA256, done.ChangeID
	return err
}

// restoreLarge puts back a file that is too large to be compared with another, where
// nothing is.
func (w *writer) restoreLarge(ctx context.Context, p confine.Path, c history.Change, out *restoreOut) error {
	if err := w.verified(c); err != nil {
		return err
	}
	if out.DryRun {
		return w.wouldCreate(p, nil)
	}
	return w.withParents(ctx, p, func() error {
		r, _, err := w.past.Content(c.ID)
		if err != nil {
			return err
		}
		defer r.Close()
		res, err := w.files.CreateFrom(ctx, p, r, replace.Options{Mode: c.Mode.Perm()})
		out.SHA256 = res.SHA256
		out.executable(c)
		return err
	})
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
	if o.DryRun {
		s = "[dry run, nothing was changed] " + s
	}
	return s + "\n" + lines(o.Note) + o.Diff + cutNote(o.DiffCut)
}
