package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/bounds"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

var restrictSpec = toolkit.Spec{
	Name: "security_set_restrictions", Title: "Restrict what commands may do", Toolset: "security", Effect: toolkit.Runs,
	Doc: "Restrict commands further than the operator did, until this server ends. Restrictions only become tighter.",
}

type restrictIn struct {
	Mode        string   `json:"security_mode,omitempty" enum:"permissive|restrictive|custom" doc:"restrictive: listed commands only. Default: custom."`
	Preset      string   `json:"security_preset,omitempty" enum:"development|production|sandbox|minimal" doc:"At least as strict."`
	Allowed     []string `json:"allowed_commands,omitzero" doc:"Only commands that begin so."`
	Blocked     []string `json:"blocked_commands,omitempty"`
	Directories []string `json:"allowed_directories,omitempty" path:"read"`
	Time        int      `json:"max_execution_time,omitempty" min:"1" max:"86400" doc:"Seconds."`
	Memory      int      `json:"max_memory_mb,omitempty" min:"1" max:"32768"`
	Network     *bool    `json:"enable_network,omitempty"`
}

type restrictOut struct {
	ID          string   `json:"restriction_id"`
	Active      bool     `json:"active"`
	Configured  string   `json:"configured_at"`
	Directories []string `json:"allowed_directories"`
	Time        float64  `json:"max_execution_time"`
	Memory      int64    `json:"max_memory_mb"`
	Network     bool     `json:"enable_network"`
	Unchanged   []string `json:"still_running" doc:"These keep their directories, memory and network."`
	Message     string   `json:"message"`
}

func (s *shell) restrict(ctx context.Context, in restrictIn) (restrictOut, error) {
	w := bounds.Wish{
		Mode: in.Mode, Preset: in.Preset, Blocked: in.Blocked, Directories: in.Directories,
		Time: time.Duration(in.Time) * time.Second, Memory: int64(in.Memory) << 20, Network: in.Network,
	}
	if in.Allowed != nil {
		w.Allowed = &in.Allowed
	}
	b, err := s.held.Tighten(ctx, w, time.Now())
	if err != nil {
		return restrictOut{}, err
	}
	toolkit.Under(ctx, b.ID)
	roots, err := b.Scope.Roots(ctx)
	if err != nil {
		return restrictOut{}, err
	}
	out := restrictOut{
		ID: b.ID, Active: true, Configured: b.Set.UTC().Format(time.RFC3339Nano),
		Directories: roots.Dirs(), Time: b.Time.Seconds(), Memory: b.Memory >> 20, Network: b.Network,
	}
	if out.Unchanged, err = s.alive(); err != nil {
		return restrictOut{}, err
	}
	out.Message = "In force for every command from now on, also for what is typed in terminals."
	if n := len(out.Unchanged); n > 0 {
		out.Message += fmt.Sprintf(" What runs already (%d) keeps the directories, memory and network that it was started with.", n)
	}
	return out, nil
}

// alive are the executions and terminals that run.
func (s *shell) alive() ([]string, error) {
	ids := []string{}
	l, err := s.runner.List(process.Filter{State: process.Running, Limit: 1000})
	for _, r := range l.Records {
		ids = append(ids, r.ID)
	}
	if err != nil {
		return nil, err
	}
	open, err := s.openTerminals()
	for _, t := range open {
		ids = append(ids, t.ID)
	}
	return ids, err
}

// Text is the message and the ID.
func (o restrictOut) Text() string {
	return o.Message + "\n[" + o.ID + "; directories: " + strings.Join(o.Directories, ", ") + "]\n"
}
