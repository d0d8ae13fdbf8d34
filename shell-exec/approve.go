package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/bounds"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// wish is a command as a client asks for it.
type wish struct {
	text  string
	argv  []string // instead of text
	dir   string
	env   map[string]string
	input string
	agent bool // with the limits of the vocabulary agent
	typed bool // argv is a shell that will be typed at
}

// approved is a command that may be started, and what it is held to.
type approved struct {
	command sandbox.Command
	most    time.Duration // that it may take, detached or not; 0: as the operator allows
}

// request is what runs it, as its caller asked for it.
func (a approved) request(text string) process.Request {
	return process.Request{Text: text, Command: a.command, Most: a.most}
}

// approve is the only way from a wish to something that can be started: the directory
// is one of those allowed, the policy lets the command through, or the person does.
func (s *shell) approve(ctx context.Context, w wish) (approved, error) {
	b := s.bounds(ctx)
	c, err := s.approveWithin(ctx, b, w)
	if err != nil {
		return approved{}, b.Told(err)
	}
	a := approved{command: c}
	if b.Time != s.settings.Duration("timeout") {
		a.most = b.Time
	}
	return a, nil
}

func (s *shell) approveWithin(ctx context.Context, b bounds.Bounds, w wish) (sandbox.Command, error) {
	g, err := s.ground(ctx, b, w.dir)
	if err != nil {
		return sandbox.Command{}, err
	}
	env, err := s.environment(w.typed).Build(w.env)
	if err != nil {
		return sandbox.Command{}, err
	}
	p := b.Policy
	if w.agent {
		p = b.Agent
	}
	r := policy.Request{
		Text: w.text, Argv: w.argv, Shell: s.shell, Dir: g.dir, Home: s.home, Workspace: g.dirs, Env: env, Input: w.input, Links: links{}, Terminal: w.typed,
		Given: w.env, Sandbox: s.hold(b),
	}
	d := p.Judge(r)
	rules, more, q := s.rules(b, g), grant{}, toolkit.Question{}
	if s.asks(d) {
		if more, err = s.grant(d, rules, env["PATH"], g.dir); err != nil {
			return sandbox.Command{}, err
		}
		if more.dir != nil {
			g.dir = more.dir.Path() // where links led when it was opened
		}
		q = question(d, "Run this command?", g.dir, r, can(r.Sandbox, g.dirs, r.Sandbox.Read, b.Network, more))
	}
	agreed, err := s.agree(ctx, b, d, q)
	if err != nil {
		return sandbox.Command{}, err
	}
	more.add(&rules)
	l, err := agreed.Launch()
	if err != nil {
		return sandbox.Command{}, err
	}
	path := more.program
	if path == "" {
		path, err = programFile(l.Argv[0], l.Env["PATH"], l.Dir)
	}
	limits := sandbox.Limits{Memory: b.Memory, Processes: mostProcesses, FileSize: s.settings.Size("max-file-size")}
	return sandbox.Command{Path: path, Args: l.Argv, Env: process.Entries(l.Env), Dir: g.dir, In: more.dir, Rules: rules, Limits: limits}, err
}

// bounds are what the command of this call is held to, and what its record names.
func (s *shell) bounds(ctx context.Context) bounds.Bounds {
	b := s.held.Now()
	if b.ID != "" {
		toolkit.Under(ctx, b.ID)
	}
	return b
}

// environment is what the operator decides about it, where somebody types or nobody.
func (s *shell) environment(typed bool) process.Environment {
	e := s.env
	e.Terminal = typed
	return e
}

// rules are what commands may touch besides the system and the tool folders.
func (s *shell) rules(b bounds.Bounds, g ground) sandbox.Rules {
	return sandbox.Rules{Read: s.read, Write: append(slices.Clip(g.grants), s.cache), Temp: s.temp, Hide: s.hide, Sockets: s.settings.List("allow-socket"), Network: b.Network}
}

// mostProcesses is how many one command may have at once.
const mostProcesses = 512

// asks says that a person has to be asked, and is.
func (s *shell) asks(d policy.Decision) bool {
	return d.Verdict() == policy.Ask && s.settings.Text("ask") == "elicit"
}

// agree is the command where the policy lets it through, or else the person does, who is
// asked q. A yes counts within the bounds that the question was asked in.
func (s *shell) agree(ctx context.Context, b bounds.Bounds, d policy.Decision, q toolkit.Question) (policy.Command, error) {
	if !s.asks(d) {
		return d.Approved()
	}
	if !q.Fits() {
		return policy.Command{}, fault.New(fault.Forbidden, "the command needs the person's consent, and is too long to be shown as a whole",
			"Write long texts to files first, then run the rest as a short command")
	}
	err := s.confirm(ctx, b, q)
	switch {
	case err == nil:
		return d.Confirmed(q.ID)
	case fault.From(err).Details["answer"] == "unsupported": // nobody can be asked; the refusal names the rule that would allow it
		_, refused := d.Approved()
		return policy.Command{}, fault.From(refused).With("answer", "unsupported")
	}
	return policy.Command{}, err
}

// confirm asks the person, who may think about it for long: restrictions that were set meanwhile
// count for what was asked about, too, and it has to be judged by them.
func (s *shell) confirm(ctx context.Context, b bounds.Bounds, q toolkit.Question) error {
	if err := toolkit.Confirm(ctx, q); err != nil {
		return err
	}
	if now := s.held.Now(); now.ID != b.ID {
		return now.Told(fault.New(fault.Forbidden, "restrictions were set while the person was asked, and the command was not judged by them", "Ask for it again").With("rule", "restrictions"))
	}
	return nil
}

// quoted marks each line of a command, so that none can pass for a line of the question.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// programFile is the file that a name stands for, as the system finds it by PATH.
func programFile(name, path, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for _, in := range filepath.SplitList(path) {
		file := filepath.Join(in, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(file) {
			return file, nil
		}
	}
	return "", fault.New(fault.StartFailed, "there is no program called "+name, "Look for its name, or install it").With("command", name)
}

// links follows symbolic links for the policy.
type links struct{}

// Follow implements pathclass.Links.
func (links) Follow(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(filepath.Clean(dir)); err == nil {
		return filepath.Join(real, base)
	}
	return path
}
