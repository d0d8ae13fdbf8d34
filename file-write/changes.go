package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var changesSpec = toolkit.Spec{
	Name:  "list_changes",
	Title: "List changes",
	Doc: "List the changes that can be undone, the last one first: " +
		"what was overwritten, edited, moved or deleted beneath the allowed directories.",
	Toolset: "history",
	Effect:  toolkit.Reads,
}

type changesIn struct {
	Path  string `json:"path,omitempty" path:"read" doc:"Only of this file or beneath this directory."`
	Since string `json:"since,omitempty" doc:"2h ago is 2h; or 2026-01-31, or RFC 3339."`
	Limit int    `json:"limit,omitempty" default:"50" min:"1" max:"1000"`
}

type changesOut struct {
	Changes []changeOut `json:"changes"`
	More    bool        `json:"truncated,omitempty"`
}

type changeOut struct {
	ID        string `json:"changeId"`
	Time      string `json:"time"`
	Path      string `json:"path"`
	To        string `json:"to,omitempty" doc:"Where it was moved."`
	Op        string `json:"op"`
	Tool      string `json:"tool,omitempty"`
	Directory bool   `json:"directory,omitempty"`
	Size      int64  `json:"size" doc:"Bytes of what was there."`
	SHA256    string `json:"sha256,omitempty" doc:"Of what was there."`
}

func (w *writer) listChanges(ctx context.Context, in changesIn) (changesOut, error) {
	since, ok := command.Moment(in.Since, time.Now())
	if !ok {
		return changesOut{}, fault.New(fault.ParamMalformed, "since is no time", "Write 2h, 2026-01-31 or 2026-01-31T12:00:00Z").
			With("parameter", "since")
	}
	roots, err := w.scope.Roots(ctx)
	if err != nil {
		return changesOut{}, err
	}
	f := history.Filter{Since: since, Limit: in.Limit + 1, Beneath: roots.Dirs(), Only: func(c history.Change) bool {
		return allowed(roots, c.Path) && (c.To == "" || allowed(roots, c.To))
	}}
	if in.Path != "" {
		p, err := w.path(ctx, in.Path)
		if err != nil {
			return changesOut{}, err
		}
		f.Beneath = []string{p.Abs()}
	}
	past, err := w.kept()
	if err != nil {
		return changesOut{}, err
	}
	found, err := past.List(f)
	out := changesOut{Changes: make([]changeOut, 0, min(len(found), in.Limit)), More: len(found) > in.Limit}
	for _, c := range found[:min(len(found), in.Limit)] {
		out.Changes = append(out.Changes, changeOut{
			ID: c.ID, Time: c.Time.UTC().Format(time.RFC3339), Path: c.Path, To: c.To, Op: c.Op, Tool: c.Tool,
			Directory: c.Tree, Size: c.Bytes, SHA256: c.SHA256,
		})
	}
	return out, err
}

// allowed reports whether a path that was recorded is one that a client may name now: what
// was written before a rule came is not listed after it.
func allowed(roots *confine.Roots, recorded string) bool {
	return operators(roots, recorded).Abs() == recorded
}

// kept is the history, where there is one.
func (w *writer) kept() (*history.Store, error) {
	if w.past == nil {
		return nil, fault.New(fault.Unavailable, "this server keeps no history", "Ask the person who runs it to start it without --history off")
	}
	return w.past, nil
}

// Text is a change a line.
func (o changesOut) Text() string {
	if len(o.Changes) == 0 {
		return "[no changes]\n"
	}
	var b strings.Builder
	for _, c := range o.Changes {
		fmt.Fprintf(&b, "%s  %s  %-9s  %s", c.ID, c.Time, c.Op, text.Escape(c.Path))
		if c.To != "" {
			b.WriteString(" to " + text.Escape(c.To))
		} else {
			fmt.Fprintf(&b, " (%d bytes)", c.Size)
		}
		b.WriteByte('\n')
	}
	if o.More {
		b.WriteString("[there are more: narrow by path or since, or raise limit]\n")
	}
	return b.String()
}
