package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/terminal"
)

// grammars are those of the shells whose lines can be checked, by the program's name. Those of others
// cannot be read.
var grammars = map[string]cmdline.Grammar{
	"bash": cmdline.Bash, "rbash": cmdline.Bash, "sh": cmdline.POSIX, "dash": cmdline.POSIX, "ash": cmdline.POSIX, "busybox": cmdline.POSIX,
	"zsh": cmdline.Zsh, "fish": cmdline.Fish,
}

// judgeTyped decides about what would be typed in a terminal. It is asked again for each
// input, with the limits that count then.
func (s *shell) judgeTyped(ctx context.Context, p terminal.Pending) (terminal.Verdict, error) {
	if !p.Completes {
		return terminal.Verdict{Complete: true}, nil // nothing runs yet
	}
	name := p.Kind
	if p.Shell {
		name = p.Foreground.Program()
	}
	return s.judgeLines(ctx, grammars[name], p)
}

// judgeLines decides about the texts that a shell may come to run, in the grammar g.
func (s *shell) judgeLines(ctx context.Context, g cmdline.Grammar, p terminal.Pending) (v terminal.Verdict, err error) {
	l := s.currentLimits(ctx)
	w, err := s.workspace(ctx, l, "")
	if err != nil {
		return v, err
	}
	env := map[string]string{}
	for _, entry := range p.Env {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	r := policy.Request{
		Shell: policy.Shell{Grammar: g}, Dir: p.Dir, Home: s.home, Workspace: w.dirs, Env: env, Links: links{}, Typed: true, Past: p.Past,
		Sandbox: s.restrictions(l),
	}
	agreed, dirs := "", []string{p.Dir}
	v.Complete, err = p.Each(func(text string) (whole bool, err error) {
		r.Text = text
		d, more := judgeIn(l.policy, r, dirs)
		if d.Incomplete() {
			return false, nil
		}
		dirs = more
		asks := d.Verdict() == policy.Ask
		if !asks || !strings.HasSuffix(agreed, "\n"+text) { // what the user agreed to as a part is not asked again
			q := toolkit.Question{}
			if asks {
				q = question(d, "Type this in the terminal?", p.Dir, r, afterTyping(r.Sandbox))
			}
			if _, err := s.agree(ctx, l, d, q); err != nil {
				return false, err
			}
		}
		if asks && agreed == "" {
			agreed = text
		}
		if d.Lasting() && !slices.ContainsFunc(v.Lasting, func(longer string) bool { return strings.HasSuffix(longer, "\n"+text) }) {
			v.Lasting = append(v.Lasting, text)
		}
		return true, nil
	})
	v.Moves = len(dirs) > 1
	if err == nil && (p.Unknown || p.Ends && !v.Complete) {
		err = s.agreeUnknown(ctx, l, p)
		v.Moves, v.Lasting = true, append(v.Lasting, policy.UnknownKeys)
	}
	return v, l.explain(err)
}

// judgeIn judges a text in each of the directories that the texts before it lead to: a
// program may have read some of them. It is the strictest decision, and where the text
// leads to as well.
func judgeIn(p *policy.Policy, r policy.Request, dirs []string) (policy.Decision, []string) {
	strictest, more := policy.Decision{}, slices.Clone(dirs)
	for i, dir := range dirs {
		r.Dir = dir
		d := p.Judge(r)
		if i == 0 || d.Verdict() > strictest.Verdict() {
			strictest = d
		}
		for _, to := range d.Dirs() {
			if len(more) >= maxDirs {
				to = ""
			}
			if !slices.Contains(more, to) {
				more = append(more, to)
			}
		}
	}
	return strictest, more
}

// maxDirs are the directories that are followed; after them it is not known.
const maxDirs = 8

// agreeUnknown is about keys of which nobody can say what a shell makes of them: an
// earlier line called back, a completion.
func (s *shell) agreeUnknown(ctx context.Context, l limits, p terminal.Pending) error {
	f := fault.New(fault.Forbidden, "nobody can say what these keys run",
		"Press Ctrl+C (twice after Tab or Escape), then type the whole command").With("rule", string(effect.Unreadable))
	switch l.policy.Effect(effect.Unreadable) {
	case policy.Allow:
		return nil
	case policy.Ask:
		if s.settings.Text("ask") != "elicit" {
			return f
		}
		id := sha256.Sum256([]byte(p.Dir + "\x00" + p.Text))
		err := s.confirm(ctx, l, toolkit.Question{
			ID: "keys-" + hex.EncodeToString(id[:16]), Title: "Press these keys in the terminal?",
			Text: questionText(quoteLines(p.Text), p.Dir, f.Msg) + afterTyping(s.restrictions(l)),
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
	w, err := s.workspace(ctx, s.limits.now(), in.Dir)
	if err != nil {
		return err
	}
	env, err := s.environment(true).Build(in.Env)
	if err != nil {
		return err
	}
	_, err = s.judgeLines(ctx, grammars[shell], terminal.Pending{
		Text: command, Lines: strings.Split(command, "\n"), Dir: w.dir, Env: process.Entries(env), Completes: true,
	})
	return err
}
