package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

var (
	readOutputSpec = toolkit.Spec{
		Name: "read_execution_output", Title: "Read an output", Toolset: "output", Effect: toolkit.Reads,
		Doc: "Read what a command wrote, a page at a time, also of one that still runs.",
	}
	listOutputsSpec = toolkit.Spec{
		Name: "list_execution_outputs", Title: "List outputs", Toolset: "output", Effect: toolkit.Reads,
		Doc: "List what is kept of what commands wrote, the newest first.",
	}
	deleteOutputsSpec = toolkit.Spec{
		Name: "delete_execution_outputs", Title: "Delete outputs", Toolset: "output", Effect: toolkit.Writes, Destructive: true, Idempotent: true,
		Doc: "Delete what is kept of what commands wrote. It cannot be brought back.",
	}
)

type readOutputIn struct {
	ID       string `json:"output_id"`
	Offset   int64  `json:"offset,omitempty" default:"0" min:"0" doc:"In bytes."`
	Size     int    `json:"size,omitempty" default:"8192" min:"1" max:"1048576" doc:"In bytes."`
	Encoding string `json:"encoding,omitempty" default:"utf-8" enum:"utf-8|base64" doc:"base64 is exact."`
}

type readOutputOut struct {
	ID        string `json:"output_id"`
	Content   string `json:"content"`
	Size      int    `json:"size"`
	Total     int64  `json:"total_size"`
	Truncated bool   `json:"is_truncated" doc:"Go on at next_offset."`
	Next      int64  `json:"next_offset,omitempty"`
	Encoding  string `json:"encoding"`
	State     string `json:"state"`
}

func (s *shell) readOutput(ctx context.Context, in readOutputIn) (readOutputOut, error) {
	if err := s.runner.Stored(ctx); err != nil {
		return readOutputOut{}, err
	}
	p, err := s.store.Read(in.ID, output.Window{Offset: in.Offset, Size: in.Size, Encoding: output.Encoding(in.Encoding)})
	if err != nil {
		return readOutputOut{}, err
	}
	out := readOutputOut{
		ID: p.ID, Content: p.Content(), Size: len(p.Raw), Total: p.Total, Truncated: p.More(),
		Encoding: string(p.Encoding), State: string(p.State),
	}
	if p.More() {
		out.Next = p.Next
	}
	return out, nil
}

// Text is the page, and where it continues.
func (o readOutputOut) Text() string {
	if !o.Truncated {
		return o.Content
	}
	return fmt.Sprintf("%s\n[%d bytes of %d; go on with offset=%d]\n", o.Content, o.Size, o.Total, o.Next)
}

// Bytes is recorded in the audit log.
func (o readOutputOut) Bytes() int64 { return int64(o.Size) }

type listOutputsIn struct {
	Type      string `json:"output_type,omitempty" default:"all" enum:"stdout|stderr|combined|log|all"`
	Execution string `json:"execution_id,omitempty"`
	Name      string `json:"name_pattern,omitempty" doc:"A glob, or a part of the name."`
	Limit     int    `json:"limit,omitempty" default:"100" min:"1" max:"1000"`
}

type listOutputsOut struct {
	Outputs []outputOut `json:"outputs"`
	Total   int         `json:"total_count"`
}

type outputOut struct {
	ID        string `json:"output_id"`
	Execution string `json:"execution_id"`
	Type      string `json:"output_type"`
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	Dropped   int64  `json:"dropped,omitempty" doc:"Bytes not kept."`
	State     string `json:"state"`
	Created   string `json:"created_at"`
}

func (s *shell) listOutputs(ctx context.Context, in listOutputsIn) (listOutputsOut, error) {
	if err := s.runner.Stored(ctx); err != nil {
		return listOutputsOut{}, err
	}
	found, total, err := s.store.List(output.Filter{Type: output.Type(in.Type), ExecutionID: in.Execution, Name: in.Name, Limit: in.Limit})
	out := listOutputsOut{Outputs: make([]outputOut, len(found)), Total: total}
	for i, f := range found {
		out.Outputs[i] = outputOut{
			ID: f.ID, Execution: f.ExecutionID, Type: string(f.Type), Name: f.Name, Size: f.Bytes, Dropped: f.Dropped,
			State: string(f.State), Created: f.Begun.UTC().Format(time.RFC3339),
		}
	}
	return out, err
}

// Text is an output a line.
func (o listOutputsOut) Text() string {
	if len(o.Outputs) == 0 {
		return "[no outputs]\n"
	}
	var b strings.Builder
	for _, f := range o.Outputs {
		fmt.Fprintf(&b, "%s  %s  %-8s  %d bytes  %s\n", f.ID, f.Created, f.Type, f.Size, text.Escape(f.Name))
	}
	if o.Total > len(o.Outputs) {
		fmt.Fprintf(&b, "[%d of %d]\n", len(o.Outputs), o.Total)
	}
	return b.String()
}

type deleteOutputsIn struct {
	IDs     []string `json:"output_ids" minItems:"1" maxItems:"1000"`
	Confirm bool     `json:"confirm" doc:"Has to be true."`
}

type deleteOutputsOut struct {
	Success bool             `json:"success"`
	Deleted []string         `json:"deleted_outputs"`
	Failed  []failedDeletion `json:"failed_outputs"`
	Total   int              `json:"total_deleted"`
}

type failedDeletion struct {
	ID    string `json:"output_id"`
	Code  string `json:"code"`
	Error string `json:"error"`
}

func (s *shell) deleteOutputs(ctx context.Context, in deleteOutputsIn) (deleteOutputsOut, error) {
	if err := s.runner.Stored(ctx); err != nil {
		return deleteOutputsOut{}, err
	}
	done, err := s.store.Delete(ctx, in.IDs, in.Confirm)
	if err != nil {
		return deleteOutputsOut{}, err
	}
	out := deleteOutputsOut{
		Success: len(done.Failed) == 0, Deleted: append([]string{}, done.Deleted...), Failed: []failedDeletion{}, Total: len(done.Deleted),
	}
	for _, f := range done.Failed {
		out.Failed = append(out.Failed, failedDeletion{f.ID, string(f.Err.Code), f.Err.Msg})
	}
	return out, nil
}
