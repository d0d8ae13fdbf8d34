package main

import (
	"context"
	"fmt"

	"github.com/multiollama/mcp-server/file-write/internal/edit"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var editSpec = toolkit.Spec{
	Name:  "edit_file",
	Title: "Edit a file",
	Doc: "Replace text in a file: old_string by new_string, literally, where it stands exactly once; " +
		"or several edits in order, all or none. Encoding and line ends stay; \\n matches any line end.",
	Toolset:     "edit",
	Effect:      toolkit.Writes,
	Destructive: true,
}

type editIn struct {
	Path     string      `json:"path" path:"write" doc:"File."`
	Old      *string     `json:"old_string,omitempty" content:"true" doc:"Text to replace, with enough around it to be unique."`
	New      *string     `json:"new_string,omitempty" content:"true"`
	All      bool        `json:"replace_all,omitempty" default:"false" doc:"Replace every match."`
	Count    int         `json:"expected_replacements,omitempty" min:"1" max:"1000000" doc:"Replace all, if there are just so many."`
	Edits    []editsItem `json:"edits,omitempty" minItems:"1" maxItems:"1000" doc:"Instead of old_string and new_string."`
	Expected string      `json:"expected_sha256,omitempty" doc:"Edit only this version."`
	DryRun   bool        `json:"dry_run,omitempty" default:"false" doc:"Only show what would change."`
}

type editsItem struct {
	Old   string `json:"old_string" content:"true"`
	New   string `json:"new_string" content:"true"`
	All   bool   `json:"replace_all,omitempty" default:"false"`
	Count int    `json:"expected_replacements,omitempty" min:"1" max:"1000000"`
}

type editOut struct {
	Success      bool   `json:"success"`
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Diff         string `json:"diff" doc:"Unified."`
	DiffCut      bool   `json:"diffTruncated,omitempty"`
	SHA256       string `json:"sha256" doc:"Of the whole file."`
	ChangeID     string `json:"changeId,omitempty" doc:"For restore_file."`
	DryRun       bool   `json:"dryRun,omitempty"`
	Note         string `json:"note,omitempty"`

	enc           text.Encoding // for vocabularies that show the difference otherwise
	before, after []byte
}

func (w *writer) edit(ctx context.Context, in editIn) (editOut, error) {
	p, err := w.path(ctx, in.Path)
	if err != nil {
		return editOut{}, err
	}
	edits, err := in.list()
	if err != nil {
		return editOut{}, err
	}
	out := editOut{Success: true, Path: p.String(), DryRun: in.DryRun}
	done, err := w.change(ctx, "edit", p, in.DryRun, func(old []byte, _ confine.Info) ([]byte, error) {
		if err := expect(p, in.Expected, old); err != nil {
			return nil, err
		}
		found := detect(old)
		if err := refuseBinary(found); err != nil {
			return nil, err
		}
		done, err := edit.Apply(old, found.Encoding, edits, replace.MaxBytes)
		if err != nil {
			return nil, err
		}
		out.Replacements = done.Replacements
		out.Diff, out.DiffCut = difference(p, found, old, done.Content)
		out.enc, out.before, out.after = found.Encoding, old, done.Content
		return done.Content, nil
	})
	out.SHA256, out.ChangeID, out.Note = done.SHA256, done.ChangeID, done.Note
	return out, err
}

// list returns the edits that the client gave in one of the two ways.
func (in editIn) list() ([]edit.Edit, error) {
	missing := func(name string) error {
		return fault.New(fault.ParamMissing, "the parameter "+name+" is missing", "Give old_string and new_string, or edits").
			With("parameter", name)
	}
	single := in.Old != nil || in.New != nil || in.All || in.Count != 0
	switch {
	case single && in.Edits != nil:
		return nil, fault.New(fault.ParamInvalid, "there are both edits and an edit of its own", "Put all of them into edits")
	case in.Edits != nil:
	case in.Old == nil:
		return nil, missing("old_string")
	case in.New == nil:
		return nil, missing("new_string")
	default:
		in.Edits = []editsItem{{Old: *in.Old, New: *in.New, All: in.All, Count: in.Count}}
	}
	edits := make([]edit.Edit, len(in.Edits))
	for i, e := range in.Edits {
		if e.Old == e.New {
			return nil, fault.New(fault.ParamInvalid, "old_string and new_string are the same", "Leave out an edit that changes nothing").
				With("edit", i+1)
		}
		edits[i] = edit.Edit(e)
	}
	return edits, nil
}

// Text is what happened in a line, and the difference.
func (o editOut) Text() string {
	line := fmt.Sprintf("Edited: %s (replacements: %d, sha256 %s)", text.Escape(o.Path), o.Replacements, o.SHA256)
	return report(line, o.DryRun, o.Note, o.Diff, o.DiffCut)
}
