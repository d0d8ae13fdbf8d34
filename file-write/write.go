package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/replace"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

var writeSpec = toolkit.Spec{
	Name:  "file_write",
	Title: "Write a file",
	Doc: "Create a text file, or with overwrite replace one, or with append add to its end. " +
		"An existing file keeps its encoding and permissions.",
	Toolset:     "write",
	Effect:      toolkit.Writes,
	Destructive: true,
}

type writeIn struct {
	Path      string `json:"path" path:"write" doc:"File: absolute, or relative to an allowed directory."`
	Content   string `json:"content" content:"true" doc:"The text, exactly as it is to be."`
	Overwrite bool   `json:"overwrite,omitempty" default:"false" doc:"Replace a file that exists."`
	Append    bool   `json:"append,omitempty" default:"false" doc:"Add to the end of a file that exists."`
	Parents   bool   `json:"create_parents,omitempty" default:"true" doc:"Make missing directories."`
	Expected  string `json:"expected_sha256,omitempty" doc:"Replace only this version."`
	Encoding  string `json:"encoding,omitempty" doc:"Default: the file's own; utf-8 for a new one."`
	DryRun    bool   `json:"dry_run,omitempty" default:"false" doc:"Only show what would change."`
}

type writeOut struct {
	Success  bool   `json:"success"`
	Path     string `json:"path"`
	Created  bool   `json:"created"`
	Written  int64  `json:"bytesWritten"`
	SHA256   string `json:"sha256" doc:"Of the whole file."`
	Encoding string `json:"encoding,omitempty"`
	Diff     string `json:"diff,omitempty" doc:"Unified."`
	DiffCut  bool   `json:"diffTruncated,omitempty"`
	ChangeID string `json:"changeId,omitempty" doc:"For restore_file."`
	DryRun   bool   `json:"dryRun,omitempty"`
	Note     string `json:"note,omitempty"`
}

// maxTries is how often a write is begun again because the file came or went.
const maxTries = 8

func (w *writer) write(ctx context.Context, in writeIn) (writeOut, error) {
	p, err := w.path(ctx, in.Path)
	if err != nil {
		return writeOut{}, err
	}
	if in.Overwrite && in.Append {
		return writeOut{}, fault.New(fault.ParamInvalid, "overwrite and append are both set", "Set one of them")
	}
	if !in.Overwrite && !in.Append {
		if in.Expected != "" {
			return writeOut{}, fault.New(fault.ParamInvalid, "expected_sha256 is given, and nothing is to be replaced",
				"Leave it out, or set overwrite or append")
		}
		return w.create(ctx, p, in)
	}
	for range maxTries {
		out, err := w.rewrite(ctx, p, in)
		if !errors.Is(err, fault.NotFound) || in.Expected != "" {
			return out, err
		}
		if out, err = w.create(ctx, p, in); !errors.Is(err, fault.Exists) {
			return out, err
		}
	}
	return writeOut{}, fault.New(fault.Unavailable, "the file comes and goes all the time", "Try again later").With("path", p.String())
}

// create makes a new file. Package replace decides whether there is one, and why it is
// refused: a look beforehand could be wrong by then.
func (w *writer) create(ctx context.Context, p confine.Path, in writeIn) (writeOut, error) {
	enc, err := text.Lookup(cmp.Or(in.Encoding, "utf-8"))
	if err != nil {
		return writeOut{}, err
	}
	content, err := enc.Encode(in.Content, needsMark(enc))
	if err != nil {
		return writeOut{}, err
	}
	out := writeOut{Success: true, Path: p.String(), Created: true, Encoding: enc.Name(), DryRun: in.DryRun}
	if in.DryRun {
		out.Written, out.SHA256 = int64(len(content)), hashOf(content)
		return out, w.wouldCreate(p, content)
	}
	do := func() error {
		res, err := w.files.Create(ctx, p, content, replace.Options{})
		out.Written, out.SHA256 = res.Bytes, res.SHA256
		return err
	}
	if in.Parents {
		err = w.withParents(ctx, p, do)
	} else {
		err = do()
	}
	if errors.Is(err, fault.Exists) && !in.Overwrite && !in.Append {
		err = exists(p, err)
	}
	return out, err
}

// needsMark reports whether a new file in an encoding gets a byte-order mark: where nothing
// else shows which of two it is in.
func needsMark(enc text.Encoding) bool { return len(enc.BOM()) > 0 && !enc.IsUTF8() }

// wouldCreate returns what Create would refuse, as far as that can be seen beforehand.
func (w *writer) wouldCreate(p confine.Path, content []byte) error {
	if _, err := p.Stat(); err == nil {
		return exists(p, nil)
	} else if !errors.Is(err, fault.NotFound) {
		return err
	}
	if err := w.guards.entry(p); err != nil {
		return err
	}
	return w.guards.content(p, content, 0)
}

// exists is the refusal of document 000: without overwrite, what is there stays.
func exists(p confine.Path, cause error) error {
	return fault.New(fault.Exists, "there is already something at "+text.Escape(p.String()),
		"Set overwrite to replace a file, change a part of it with an edit, or choose another name").With("path", p.String()).Because(cause)
}

// rewrite replaces or extends a file that exists. A file that is not there is
// fault.NotFound.
func (w *writer) rewrite(ctx context.Context, p confine.Path, in writeIn) (writeOut, error) {
	op := "overwrite"
	if in.Append {
		op = "append"
	}
	out := writeOut{Success: true, Path: p.String(), DryRun: in.DryRun}
	done, err := w.change(ctx, op, p, in.DryRun, func(old []byte, _ confine.Info) ([]byte, error) {
		if err := expect(p, in.Expected, old); err != nil {
			return nil, err
		}
		found := detect(old)
		enc, content, err := in.over(found, old)
		if err != nil {
			return nil, err
		}
		out.Encoding = enc.Name()
		out.Diff, out.DiffCut = difference(p, found, old, content)
		out.Written = int64(len(content))
		if in.Append {
			out.Written -= int64(len(old))
		}
		return content, nil
	})
	out.SHA256, out.ChangeID, out.Note = done.SHA256, done.ChangeID, done.Note
	return out, err
}

// over is what the file will hold in place of old, or after it. The encoding and the
// byte-order mark of old stay unless another encoding was asked for; in place of what is
// not text it is UTF-8.
func (in writeIn) over(found text.Detected, old []byte) (text.Encoding, []byte, error) {
	enc, bom := found.Encoding, false
	var err error
	switch {
	case in.Encoding != "" && !in.Append:
		if enc, err = text.Lookup(in.Encoding); err != nil {
			return enc, nil, err
		}
		bom = needsMark(enc)
	case found.Binary:
		enc, _ = text.Lookup("utf-8") // always there
	default:
		bom = enc.HasBOM(old)
	}
	if !in.Append {
		content, err := enc.Encode(in.Content, bom)
		return enc, content, err
	}
	if err := refuseBinary(found); err != nil {
		return enc, nil, err
	}
	tail, err := enc.Encode(in.Content, bom && len(old) == 0)
	if err != nil {
		return enc, nil, err
	}
	return enc, append(bytes.Clone(old), tail...), nil
}

// expect compares a content with the hash that a client expects of it, if it does.
func expect(p confine.Path, want string, content []byte) error {
	if want == "" {
		return nil
	}
	have := hashOf(content)
	if strings.EqualFold(want, have) {
		return nil
	}
	if b, err := hex.DecodeString(want); err != nil || len(b) != sha256.Size {
		return fault.New(fault.ParamMalformed, "expected_sha256 is not 64 hexadecimal digits",
			"Give the sha256 that reading the file has answered")
	}
	return fault.New(fault.Exists, text.Escape(p.String())+" is not the version that was expected: it was changed since it was read",
		"Read it again and make the change to what is there now").With("path", p.String()).With("present_sha256", have)
}

// Text is what happened in a line, and the difference.
func (o writeOut) Text() string {
	did := "Replaced"
	switch {
	case o.Created:
		did = "Created"
	case o.Diff == "" && !o.DiffCut:
		did = "Left as it is"
	}
	line := fmt.Sprintf("%s: %s (%d bytes written, sha256 %s)", did, text.Escape(o.Path), o.Written, o.SHA256)
	return report(line, o.DryRun, o.Note, o.Diff, o.DiffCut)
}

// Bytes is recorded in the audit log.
func (o writeOut) Bytes() int64 { return o.Written }
