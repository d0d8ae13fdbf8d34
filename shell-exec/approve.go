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
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// request is a command as a client asks for it.
type request struct {
	text  string
	argv  []string // instead of text
	dir   string
	env   map[string]string
	input string
	agent bool // with the limits of the vocabulary agent
	typed bool // argv is a shell that will be typed at
}

// prepared is a command that may be started, and what it is restricted to.
type prepared struct {
	command sandbox.Command
	maxTime time.Duration // that it may take, detached or not; 0: as the operator allows
}

// run runs a command as q says, once it is approved. A client that wants progress gets the newest lines.
func (s *shell) run(ctx context.Context, in request, q process.Request) (process.Result, error) {
	p, err := s.approve(ctx, in)
	if err != nil {
		return process.Result{}, err
	}
	q.Command, q.MaxTime = p.command, p.maxTime
	q.Progress = func(p process.Progress) {
		toolkit.Progress(ctx, float64(p.Bytes), 0, strings.Join(p.Lines, "\n"))
	}
	return s.runner.Run(ctx, q)
}

// approve is the only way from a request to something that can be started: the directory
// is one of those allowed, the policy lets the command through, or the user does.
func (s *shell) approve(ctx context.Context, in request) (_ prepared, err error) {
	l := s.currentLimits(ctx)
	defer func() { err = l.explain(err) }()
	w, err := s.workspace(ctx, l, in.dir)
	if err != nil {
		return prepared{}, err
	}
	env, err := s.environment(in.typed).Build(in.env)
	if err != nil {
		return prepared{}, err
	}
	r := policy.Request{
		Text: in.text, Argv: in.argv, Shell: s.shell, Dir: w.dir, Home: s.home, Workspace: w.dirs, Env: env, Input: in.input,
		Links: links{}, Terminal: in.typed, Given: in.env, Sandbox: s.restrictions(l),
	}
	judge := l.policy
	if in.agent {
		judge = l.agent
	}
	d := judge.Judge(r)

	// What commands may access in addition to the system and the folders of tools, and what the user is asked.
	rules := sandbox.Rules{
		Read: s.read, Write: append(slices.Clip(w.grants), s.cache), Temp: s.temp, Hide: s.hide,
		Sockets: s.settings.List("allow-socket"), Network: l.network,
	}
	more, q := grant{}, toolkit.Question{}
	if s.asks(d) {
		if more, err = s.grant(d, rules, env["PATH"], w.dir); err != nil {
			return prepared{}, err
		}
		if more.dir != nil {
			w.dir = more.dir.Path() // where links led when it was opened
		}
		q = question(d, "Run this command?", w.dir, r, afterApproval(r.Sandbox, w.dirs, l.network, more))
	}
	agreed, err := s.agree(ctx, l, d, q)
	if err != nil {
		return prepared{}, err
	}

	// What was agreed to, as it will be started, with what the approval opens.
	rules.Read, rules.Write = slices.Concat(rules.Read, more.read), slices.Concat(rules.Write, more.write)
	rules.UnsafeUnrestricted = more.program != ""
	start, err := agreed.Launch()
	if err != nil {
		return prepared{}, err
	}
	path := more.program
	if path == "" {
		if path, err = programFile(start.Argv[0], start.Env["PATH"], start.Dir); err != nil {
			return prepared{}, err
		}
	}
	p := prepared{command: sandbox.Command{
		Path: path, Args: start.Argv, Env: process.Entries(start.Env), Dir: w.dir, In: more.dir, Rules: rules,
		Limits: sandbox.Limits{Memory: l.memory, Processes: maxProcesses, FileSize: s.settings.Size("max-file-size")},
	}}
	if l.time != s.settings.Duration("timeout") {
		p.maxTime = l.time
	}
	return p, nil
}

// currentLimits are what the command of this call is restricted to, and what its record names.
func (s *shell) currentLimits(ctx context.Context) limits {
	l := s.limits.now()
	if l.id != "" {
		toolkit.Under(ctx, l.id)
	}
	return l
}

// environment is what the operator decides about it, where somebody types or nobody.
func (s *shell) environment(typed bool) process.Environment {
	e := s.env
	e.Terminal = typed
	return e
}

// maxProcesses is how many one command may have at once.
const maxProcesses = 512

// asks says that the user has to be asked, and is.
func (s *shell) asks(d policy.Decision) bool {
	return d.Verdict() == policy.Ask && s.settings.Text("ask") == "elicit"
}

// agree is the command where the policy lets it through, or else the user does, who is
// asked q. A yes counts within the limits that the question was asked in.
func (s *shell) agree(ctx context.Context, l limits, d policy.Decision, q toolkit.Question) (policy.Command, error) {
	if !s.asks(d) {
		return d.Approved()
	}
	if !q.Fits() {
		return policy.Command{}, fault.New(fault.Forbidden, "the command needs the person's consent, and is too long to be shown as a whole",
			"Write long texts to files first, then run the rest as a short command")
	}
	err := s.confirm(ctx, l, q)
	switch {
	case err == nil:
		return d.Confirmed(q.ID)
	case fault.From(err).Details["answer"] == "unsupported": // nobody can be asked; the refusal names the rule that would allow it
		_, refused := d.Approved()
		return policy.Command{}, fault.From(refused).With("answer", "unsupported")
	}
	return policy.Command{}, err
}

// confirm asks the user, who may think about it for long: restrictions that were set meanwhile
// count for what was asked about, too, and it has to be judged by them.
func (s *shell) confirm(ctx context.Context, l limits, q toolkit.Question) error {
	if err := toolkit.Confirm(ctx, q); err != nil {
		return err
	}
	if now := s.limits.now(); now.id != l.id {
		return now.explain(fault.New(fault.Forbidden, "restrictions were set while the person was asked, and the command was not judged by them",
			"Ask for it again").With("rule", "restrictions"))
	}
	return nil
}

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

// Follow implements effect.Links.
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
