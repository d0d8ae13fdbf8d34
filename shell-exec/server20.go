package main

import (
	"context"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

// The tool names of document 001: the same operations under its names, with its parameters and results.
// Where the others return more, that is left out.

var execute20Spec = toolkit.Spec{
	Name: "shell_execute", Title: "Run a command", Toolset: "shell", Effect: toolkit.Runs, Destructive: true, OpenWorld: true,
	Doc: "Run a shell command line. sync waits to its end or the time-out; async and background answer at once.",
}

type execute20In struct {
	Command   string            `json:"command" doc:"Shell command line."`
	Mode      string            `json:"execution_mode,omitempty" default:"sync" enum:"sync|async|background"`
	Dir       string            `json:"working_directory,omitempty" path:"read"`
	Env       map[string]string `json:"environment_variables,omitempty" secret:"true"`
	Input     string            `json:"input_data,omitempty" content:"true"`
	Timeout   int               `json:"timeout_seconds,omitempty" min:"1" max:"3600" doc:"Ends the command. Default in sync: 30."`
	MaxOutput int               `json:"max_output_size,omitempty" default:"1048576" min:"1024" max:"104857600"`
	Stderr    bool              `json:"capture_stderr,omitempty" default:"true"`
	Session   string            `json:"session_id,omitempty"`
	inTerminal
}

func (s *shell) execute20(ctx context.Context, in execute20In) (executionOut, error) {
	return s.execute(ctx, executeIn{
		Command: in.Command, Mode: in.Mode, Dir: in.Dir, Env: in.Env, Input: in.Input, Timeout: in.Timeout,
		MaxOutput: in.MaxOutput, Stderr: in.Stderr, Partial: true, Session: in.Session, inTerminal: in.inTerminal,
	})
}

type files20In struct {
	Type      string `json:"file_type,omitempty" default:"all" enum:"output|log|temp|all"`
	Execution string `json:"execution_id,omitempty"`
	Name      string `json:"name_pattern,omitempty" doc:"A glob, or a part of the name."`
	Limit     int    `json:"limit,omitempty" default:"100" min:"1" max:"1000"`
}

type files20Out struct {
	Files []file20 `json:"files"`
	Total int      `json:"total_count"`

	list listOutputsOut
}

type file20 struct {
	ID        string `json:"file_id"`
	Execution string `json:"execution_id"`
	Type      string `json:"file_type"`
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	Created   string `json:"created_at"`
}

// Text is that of the other vocabularies.
func (o files20Out) Text() string { return o.list.Text() }

// files20 lists outputs; of temporary files there are none.
func (s *shell) files20(ctx context.Context, in files20In) (files20Out, error) {
	if in.Type == "temp" {
		return files20Out{Files: []file20{}}, nil
	}
	kind := map[string]string{"output": "combined", "log": "log", "all": "all"}[in.Type]
	o, err := s.listOutputs(ctx, listOutputsIn{Type: kind, Execution: in.Execution, Name: in.Name, Limit: in.Limit})
	out := files20Out{Files: make([]file20, len(o.Outputs)), Total: o.Total, list: o}
	for i, f := range o.Outputs {
		out.Files[i] = file20{f.ID, f.Execution, f.Type, f.Name, f.Size, f.Created}
	}
	return out, err
}

type file20In struct {
	ID       string `json:"file_id"`
	Offset   int64  `json:"offset,omitempty" default:"0" min:"0" doc:"In bytes."`
	Size     int    `json:"size,omitempty" default:"8192" min:"1" max:"1048576" doc:"In bytes."`
	Encoding string `json:"encoding,omitempty" default:"utf-8" enum:"utf-8|base64"`
}

type file20Out struct {
	ID        string `json:"file_id"`
	Content   string `json:"content"`
	Size      int    `json:"size"`
	Total     int64  `json:"total_size"`
	Truncated bool   `json:"is_truncated"`
	Encoding  string `json:"encoding"`

	page readOutputOut
}

// Text is that of the other vocabularies.
func (o file20Out) Text() string { return o.page.Text() }

// Bytes is recorded in the audit log.
func (o file20Out) Bytes() int64 { return o.page.Bytes() }

func (s *shell) file20(ctx context.Context, in file20In) (file20Out, error) {
	o, err := s.readOutput(ctx, readOutputIn(in))
	return file20Out{ID: o.ID, Content: o.Content, Size: o.Size, Total: o.Total, Truncated: o.Truncated, Encoding: o.Encoding, page: o}, err
}

type delete20In struct {
	IDs     []string `json:"file_ids" minItems:"1" maxItems:"1000"`
	Confirm bool     `json:"confirm" doc:"Has to be true."`
}

type delete20Out struct {
	Deleted []string `json:"deleted_files"`
	Failed  []string `json:"failed_files"`
	Total   int      `json:"total_deleted"`
}

func (s *shell) delete20(ctx context.Context, in delete20In) (delete20Out, error) {
	o, err := s.deleteOutputs(ctx, deleteOutputsIn(in))
	out := delete20Out{Deleted: o.Deleted, Failed: []string{}, Total: o.Total}
	for _, f := range o.Failed {
		out.Failed = append(out.Failed, f.ID)
	}
	return out, err
}
