// Package bounds is what commands are held to at a moment: what the operator allows, and
// what a client has bound itself to besides.
//
// It refuses to widen anything: bounds only ever become tighter, and whoever set them
// cannot take them back, since a caller that was talked into something would do just
// that. They end with the server. It starts nothing and judges nothing.
package bounds

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// Bounds are what commands are held to. They do not change; a tighter one takes their place.
type Bounds struct {
	ID     string    // of the restrictions; "" where only the operator's count
	Set    time.Time // when
	Policy *policy.Policy
	Agent  *policy.Policy // Policy as the vocabulary agent has it
	Scope  *confine.Scope // the directories of commands

	Time    time.Duration // the longest that a command may take
	Memory  int64         // bytes, of a command with all it starts
	Network bool
}

// The modes of document 003.
const (
	Permissive  = "permissive"  // what the operator allows; only the common limits count
	Restrictive = "restrictive" // only listed commands: those of the wish, or those of the preset minimal
	Custom      = "custom"      // the lists of the wish
)

// Wish is what a client wants to be held to. What is empty stays as it is.
type Wish struct {
	Mode    string // "": Custom
	Preset  string
	Allowed *[]string // an empty list allows nothing
	Blocked []string

	Directories []string
	Time        time.Duration
	Memory      int64
	Network     *bool
}

// Held is the bounds that count now. Its methods may be called from several goroutines.
type Held struct{ now atomic.Pointer[Bounds] }

// New begins with what the operator allows.
func New(operator Bounds) *Held {
	h := &Held{}
	h.now.Store(&operator)
	return h
}

// Now is what a command that starts now is held to.
func (h *Held) Now() Bounds { return *h.now.Load() }

// Tighten makes the bounds as tight as the wish. What would widen them is
// fault.Forbidden, and nothing of the wish counts then.
func (h *Held) Tighten(ctx context.Context, w Wish, at time.Time) (Bounds, error) {
	for {
		now := h.now.Load()
		next, err := now.tightened(ctx, w)
		if err != nil {
			return Bounds{}, err
		}
		next.ID, next.Set = "restriction_"+strings.ToLower(rand.Text()[:12]), at
		if h.now.CompareAndSwap(now, &next) {
			return next, nil
		}
	}
}

func (b Bounds) tightened(ctx context.Context, w Wish) (Bounds, error) {
	if err := b.policies(w); err != nil {
		return b, err
	}
	if err := b.directories(ctx, w.Directories); err != nil {
		return b, err
	}
	return b, b.limits(w)
}

// policies are those of the mode, the preset and the lists.
func (b *Bounds) policies(w Wish) error {
	r := policy.Restrictions{Preset: w.Preset, Allowed: w.Allowed, Blocked: w.Blocked}
	switch w.Mode {
	case "", Custom:
	case Restrictive:
		if w.Allowed == nil && w.Preset == "" {
			r.Preset = "minimal"
		}
	case Permissive:
		if w.Allowed != nil || len(w.Blocked) > 0 || w.Preset != "" {
			return fault.New(fault.ParamInvalid, "permissive goes with no list of commands and no preset", "Leave them out, or use custom").With("parameter", "security_mode")
		}
		if b.ID != "" {
			return b.wider("permissive would take back the restrictions in force")
		}
	default:
		return fault.New(fault.ParamInvalid, fmt.Sprintf("there is no security mode %q", w.Mode), "Use permissive, restrictive or custom").With("parameter", "security_mode")
	}
	var err error
	if b.Policy, err = b.Policy.Tightened(r); err != nil {
		return err
	}
	b.Agent, err = b.Agent.Tightened(r)
	return err
}

// directories are those of the wish, each within what is allowed now.
func (b *Bounds) directories(ctx context.Context, dirs []string) error {
	if len(dirs) == 0 {
		return nil
	}
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		name, err := b.directory(ctx, dir)
		if err != nil {
			return err
		}
		names[i] = name
	}
	narrow, err := b.Scope.Narrow(names)
	if err != nil {
		return err
	}
	roots, err := narrow.Roots(ctx)
	if err != nil {
		return err
	}
	b.Scope = narrow
	_, err = roots.Grants() // opened now: what takes their names later is not allowed
	return err
}

func (b *Bounds) directory(ctx context.Context, dir string) (string, error) {
	p, err := b.Scope.Parse(ctx, dir)
	if f := fault.From(err); f != nil && f.Code == fault.OutsideAllowed {
		return "", b.wider("the directory "+dir+" is not among those allowed").With("path", dir)
	} else if f != nil {
		return "", f
	}
	info, err := p.Stat()
	if err != nil {
		return "", err
	}
	if info.Type != confine.Directory {
		return "", fault.New(fault.ParamInvalid, dir+" is no directory", "Name directories").With("path", dir).With("parameter", "allowed_directories")
	}
	return p.Abs(), nil
}

// limits are the smaller ones.
func (b *Bounds) limits(w Wish) error {
	switch {
	case w.Time > b.Time && b.Time > 0:
		return b.wider(fmt.Sprintf("commands may take %v at most, not %v", b.Time, w.Time)).With("parameter", "max_execution_time").With("maximum", b.Time.Seconds())
	case w.Memory > b.Memory && b.Memory > 0:
		return b.wider(fmt.Sprintf("commands may have %d MB at most, not %d", b.Memory>>20, w.Memory>>20)).With("parameter", "max_memory_mb").With("maximum", b.Memory>>20)
	case w.Network != nil && *w.Network && !b.Network:
		return b.wider("the network is off").With("parameter", "enable_network")
	}
	if w.Time > 0 {
		b.Time = w.Time
	}
	if w.Memory > 0 {
		b.Memory = w.Memory
	}
	if w.Network != nil {
		b.Network = *w.Network
	}
	return nil
}

// wider refuses what would take something back.
func (b *Bounds) wider(what string) *fault.Error {
	f := fault.New(fault.Forbidden, what, "Restrictions only become tighter; ask the person who runs this server to allow more").With("rule", "restrictions")
	return fault.From(b.Told(f))
}

// Told is an error that names the restrictions in force, if there are any.
func (b Bounds) Told(err error) error {
	if f := fault.From(err); f != nil && b.ID != "" {
		return f.With("restriction_id", b.ID)
	}
	return err
}
