package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// limits are what commands are restricted to at a moment: what the operator allows, and what a client has
// bound itself to in addition. They do not change; tighter ones take their place.
type limits struct {
	id     string    // of the restrictions; "" where only the operator's count
	set    time.Time // when
	policy *policy.Policy
	agent  *policy.Policy // policy for the vocabulary agent
	scope  *confine.Scope // the directories of commands

	time    time.Duration // the longest that a command may take
	memory  int64         // bytes, of a command with all it starts
	network bool
}

// sessionLimits are the limits that count now. They only ever become tighter, and whoever set them cannot
// take them back, since a caller that was talked into something would do just that. They end with the
// server. Its methods may be called from several goroutines.
type sessionLimits struct{ current atomic.Pointer[limits] }

// now are the limits of a command that starts now.
func (l *sessionLimits) now() limits { return *l.current.Load() }

var restrictSpec = toolkit.Spec{
	Name: "security_set_restrictions", Title: "Restrict what commands may do", Toolset: "security", Effect: toolkit.Runs,
	Doc: "Restrict commands further than the operator did, until this server ends. Restrictions only become tighter.",
}

// restrictIn is what a client wants to be restricted to. What is empty stays as it is. The mode permissive changes
// only the limits, restrictive allows the listed commands only, those of the preset minimal where none are listed.
type restrictIn struct {
	Mode string `json:"security_mode,omitempty" enum:"permissive|restrictive|custom" doc:"restrictive: listed commands only. Default: custom."`

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
	l, err := s.limits.tighten(ctx, in, time.Now())
	if err != nil {
		return restrictOut{}, err
	}
	toolkit.Under(ctx, l.id)
	roots, err := l.scope.Roots(ctx)
	if err != nil {
		return restrictOut{}, err
	}
	out := restrictOut{
		ID: l.id, Active: true, Configured: stamp(l.set), Directories: roots.Dirs(), Time: l.time.Seconds(), Memory: l.memory >> 20,
		Network: l.network, Unchanged: []string{}, Message: "In force for every command from now on, also for what is typed in terminals.",
	}

	// The executions and terminals that run keep what they were started with.
	running, err := s.runner.List(process.Filter{State: process.Running, Limit: 1000})
	if err != nil {
		return restrictOut{}, err
	}
	for _, r := range running.Records {
		out.Unchanged = append(out.Unchanged, r.ID)
	}
	open, err := s.openTerminals()
	if err != nil {
		return restrictOut{}, err
	}
	for _, t := range open {
		out.Unchanged = append(out.Unchanged, t.ID)
	}
	if n := len(out.Unchanged); n > 0 {
		out.Message += fmt.Sprintf(" What runs already (%d) keeps the directories, memory and network that it was started with.", n)
	}
	return out, nil
}

// Text is the message and the ID.
func (o restrictOut) Text() string {
	return o.Message + "\n[" + o.ID + "; directories: " + strings.Join(o.Directories, ", ") + "]\n"
}

// tighten makes the limits as tight as a client wants them. What would widen them is fault.Forbidden, and
// nothing of it counts then.
func (l *sessionLimits) tighten(ctx context.Context, in restrictIn, at time.Time) (limits, error) {
	for {
		now := l.current.Load()
		next, err := now.tightened(ctx, in)
		if err != nil {
			return limits{}, err
		}
		next.id, next.set = "restriction_"+strings.ToLower(rand.Text()[:12]), at
		if l.current.CompareAndSwap(now, &next) {
			return next, nil
		}
	}
}

func (l limits) tightened(ctx context.Context, in restrictIn) (limits, error) {
	if err := l.tightenPolicies(in); err != nil {
		return l, err
	}
	if len(in.Directories) > 0 {
		if err := l.tightenScope(ctx, in.Directories); err != nil {
			return l, err
		}
	}

	longest, memory := time.Duration(in.Time)*time.Second, int64(in.Memory)<<20
	switch {
	case longest > l.time && l.time > 0:
		return l, l.wider(fmt.Sprintf("commands may take %v at most, not %v", l.time, longest)).
			With("parameter", "max_execution_time").With("maximum", l.time.Seconds())
	case memory > l.memory && l.memory > 0:
		return l, l.wider(fmt.Sprintf("commands may have %d MB at most, not %d", l.memory>>20, in.Memory)).
			With("parameter", "max_memory_mb").With("maximum", l.memory>>20)
	case in.Network != nil && *in.Network && !l.network:
		return l, l.wider("the network is off").With("parameter", "enable_network")
	}
	if longest > 0 {
		l.time = longest
	}
	if memory > 0 {
		l.memory = memory
	}
	if in.Network != nil {
		l.network = *in.Network
	}
	return l, nil
}

// tightenPolicies restricts the policies to the mode, the preset and the lists.
func (l *limits) tightenPolicies(in restrictIn) error {
	r := policy.Restrictions{Preset: in.Preset, Blocked: in.Blocked}
	if in.Allowed != nil { // an empty list allows nothing
		r.Allowed = &in.Allowed
	}
	switch in.Mode {
	case "", "custom":
	case "restrictive":
		if in.Allowed == nil && in.Preset == "" {
			r.Preset = "minimal"
		}
	case "permissive":
		if in.Allowed != nil || len(in.Blocked) > 0 || in.Preset != "" {
			return fault.New(fault.ParamInvalid, "permissive goes with no list of commands and no preset", "Leave them out, or use custom").
				With("parameter", "security_mode")
		}
		if l.id != "" {
			return l.wider("permissive would take back the restrictions in force")
		}
	default:
		return fault.New(fault.ParamInvalid, fmt.Sprintf("there is no security mode %q", in.Mode), "Use permissive, restrictive or custom").
			With("parameter", "security_mode")
	}
	var err error
	if l.policy, err = l.policy.Tightened(r); err != nil {
		return err
	}
	l.agent, err = l.agent.Tightened(r)
	return err
}

// tightenScope restricts commands to directories, each of them within what is allowed now.
func (l *limits) tightenScope(ctx context.Context, dirs []string) error {
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		p, err := l.scope.Parse(ctx, dir)
		if f := fault.From(err); f != nil && f.Code == fault.OutsideAllowed {
			return l.wider("the directory "+dir+" is not among those allowed").With("path", dir)
		} else if f != nil {
			return f
		}
		info, err := p.Stat()
		if err != nil {
			return err
		}
		if info.Type != confine.Directory {
			return fault.New(fault.ParamInvalid, dir+" is no directory", "Name directories").
				With("path", dir).With("parameter", "allowed_directories")
		}
		names[i] = p.Abs()
	}
	narrow, err := l.scope.Narrow(names)
	if err != nil {
		return err
	}
	roots, err := narrow.Roots(ctx)
	if err != nil {
		return err
	}
	l.scope = narrow
	_, err = roots.Grants() // opened now: what takes their names later is not allowed
	return err
}

// wider refuses what would take something back.
func (l *limits) wider(what string) *fault.Error {
	f := fault.New(fault.Forbidden, what, "Restrictions only become tighter; ask the person who runs this server to allow more").
		With("rule", "restrictions")
	return fault.From(l.explain(f))
}

// explain is an error that names the restrictions in force, if there are any.
func (l limits) explain(err error) error {
	if f := fault.From(err); f != nil && l.id != "" {
		return f.With("restriction_id", l.id)
	}
	return err
}
