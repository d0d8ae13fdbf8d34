package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/bounds"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/terminal"
)

// keyboard is what has to be known of a terminal to judge what is typed in it.
type keyboard struct {
	shell string
	env   map[string]string // of its shell at the start
	past  []string          // texts that changed what later ones mean
}

// keyboards are those of all terminals.
type keyboards struct {
	mu  sync.Mutex
	all map[string]keyboard
}

// mostPast bounds what of the past of a shell is remembered.
const mostPast = 64 << 10 // bytes

func (k *keyboards) add(id string, one keyboard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]keyboard{}
	}
	k.all[id] = one
}

func (k *keyboards) get(id string) keyboard {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[id]
}

// prune forgets those of terminals that are there no more.
func (k *keyboards) prune(exists func(id string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.all, func(id string, _ keyboard) bool { return !exists(id) })
}

func (k *keyboards) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, id)
}

// remember adds to the past of a terminal. A definition that does not fit is refused:
// what follows it could not be judged.
func (k *keyboards) remember(id, text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.all[id]
	size := len(text)
	for _, p := range one.past {
		size += len(p)
	}
	if size > mostPast {
		return fault.New(fault.LimitReached, "so much was defined in this terminal that more cannot be kept in mind", "Open another terminal").With("limit", mostPast)
	}
	one.past = append(one.past[:len(one.past):len(one.past)], text)
	k.all[id] = one
	return nil
}

// grammars are those of the shells that can be judged, by the program's name; the others
// cannot be read.
var grammars = map[string]cmdline.Grammar{
	"bash": cmdline.Bash, "rbash": cmdline.Bash, "sh": cmdline.POSIX, "dash": cmdline.POSIX, "ash": cmdline.POSIX, "busybox": cmdline.POSIX,
	"zsh": cmdline.Zsh, "fish": cmdline.Fish,
}

// judgeTyped decides about what would be typed in a terminal. It is asked again for each
// input, with the bounds that count then.
func (s *shell) judgeTyped(ctx context.Context, id string, p terminal.Pending) (complete bool, err error) {
	if !p.Completes {
		return true, nil // nothing runs yet
	}
	b := s.held.Now()
	k := s.keyboards.get(id)
	name := k.shell
	if p.Shell {
		name = path.Base(p.Foreground.Path)
		if p.Foreground.Path == "" {
			name = p.Foreground.Name
		}
	}
	return s.judgeLines(ctx, b, id, typedText{grammar: grammars[name], dir: p.Dir, readings: p.Readings(), unknown: p.Unknown, ends: p.Ends, keyboard: k})
}

// typedText is what would be typed, and where.
type typedText struct {
	keyboard
	grammar  cmdline.Grammar
	dir      string
	readings []string // all that it may come to mean; the first is the whole
	unknown  bool     // it may mean more
	ends     bool     // what is no whole command may run too
}

func (s *shell) judgeLines(ctx context.Context, b bounds.Bounds, id string, t typedText) (complete bool, err error) {
	if b.ID != "" {
		toolkit.Under(ctx, b.ID)
	}
	g, err := s.ground(ctx, b, "")
	if err != nil {
		return false, err
	}
	r := policy.Request{Shell: policy.Shell{Grammar: t.grammar}, Dir: t.dir, Home: s.home, Workspace: g.dirs, Env: t.env, Links: links{}, Typed: true, Past: t.past}
	complete, lasting := true, false
	for i, text := range t.readings {
		r.Text = text
		d := b.Policy.Judge(r)
		if d.Incomplete() { // by itself it runs nothing
			complete = complete && i > 0
			t.unknown = t.unknown || t.ends
			continue
		}
		if err := s.agreed(ctx, b, d, t.dir); err != nil {
			return false, err
		}
		lasting = lasting || d.Lasting()
	}
	if t.unknown {
		if err := s.agreedUnknown(ctx, b, t); err != nil {
			return false, err
		}
	}
	if lasting && id != "" {
		return complete, s.keyboards.remember(id, t.readings[0])
	}
	return complete, nil
}

// agreed is nil where the policy or the person lets what is typed through.
func (s *shell) agreed(ctx context.Context, b bounds.Bounds, d policy.Decision, dir string) error {
	_, err := d.Approved()
	if err != nil && d.Verdict() == policy.Ask && s.settings.Text("ask") == "elicit" {
		_, err = s.consent(ctx, d, dir)
	}
	if f := fault.From(err); f != nil && b.ID != "" {
		return f.With("restriction_id", b.ID)
	}
	return err
}

// agreedUnknown is about keys of which nobody can say what a shell makes of them: an
// earlier line called back, a completion.
func (s *shell) agreedUnknown(ctx context.Context, b bounds.Bounds, t typedText) error {
	f := fault.New(fault.Forbidden, "nobody can say what these keys run", "Press Ctrl+C (twice after Tab or Escape), then type the whole command").With("rule", string(effect.Unreadable))
	switch b.Policy.Effect(effect.Unreadable) {
	case policy.Allow:
		return nil
	case policy.Ask:
		if s.settings.Text("ask") != "elicit" {
			return f
		}
		id := sha256.Sum256([]byte(t.dir + "\x00" + strings.Join(t.readings, "\x00")))
		err := toolkit.Confirm(ctx, toolkit.Question{
			ID: "keys-" + hex.EncodeToString(id[:16]), Title: "Press these keys?",
			Text: "in " + t.dir + ", because " + f.Msg + ":\n\n" + quoted(strings.Join(t.readings, "\n")),
		})
		if e := fault.From(err); e != nil && e.Details["answer"] == "unsupported" {
			return f.With("answer", "unsupported")
		}
		return err
	}
	return f
}

// judgeFirst decides about a command before the terminal is opened that it is for: as if
// it were typed there already.
func (s *shell) judgeFirst(ctx context.Context, in executeIn, shell, command string) error {
	b := s.held.Now()
	g, err := s.ground(ctx, b, in.Dir)
	if err != nil {
		return err
	}
	env := s.env
	env.Terminal = true
	all, err := env.Build(in.Env)
	if err != nil {
		return err
	}
	_, err = s.judgeLines(ctx, b, "", typedText{keyboard: keyboard{env: all}, grammar: grammars[shell], dir: g.dir, readings: []string{command}})
	return err
}
