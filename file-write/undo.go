package main

import (
	"bytes"
	"context"
	"io"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// undo is how one change can be undone: what was there is in the history before the
// change happens, and goes from it again if it does not happen.
type undo struct {
	ctx    context.Context
	past   *history.Store // nil keeps nothing
	change history.Change
}

// undoing is the undo of a change of p, of which nothing is kept yet.
func (w *writer) undoing(ctx context.Context, op string, p confine.Path) *undo {
	tool, request := toolkit.Caller(ctx)
	return &undo{ctx: ctx, past: w.past, change: history.Change{Path: p.Abs(), Op: op, Tool: tool, RequestID: request}}
}

// keepBytes is keep of a content that is in memory.
func (u *undo) keepBytes(old []byte, info confine.Info) error {
	return u.keep(bytes.NewReader(old), info)
}

// keep stores what was there. A change that begins anew calls it again: then what was
// kept first is not what was lost.
func (u *undo) keep(old io.Reader, info confine.Info) error {
	if u.past == nil {
		return nil
	}
	u.forget()
	c := u.change
	c.Existed, c.Mode = true, info.Mode
	c, err := u.past.Keep(u.ctx, c, old)
	if err == nil {
		u.change.ID = c.ID
	}
	return err
}

// ended takes the change as done, or as one that did not happen, and gives its id.
func (u *undo) ended(err error) string {
	if err != nil {
		u.forget()
	}
	return u.change.ID
}

// forget leaves a change in the list if it must: one too many is harmless.
func (u *undo) forget() {
	if u.change.ID == "" {
		return
	}
	_ = u.past.Forget(context.WithoutCancel(u.ctx), u.change.ID)
	u.change.ID = ""
}
