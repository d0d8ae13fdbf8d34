package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
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
}

// approve is the only way from a wish to something that can be started: the directory
// is one of those allowed, the policy lets the command through, or the person does.
func (s *shell) approve(ctx context.Context, p *policy.Policy, w wish) (sandbox.Command, error) {
	dir, err := s.workdir(ctx, w.dir)
	if err != nil {
		return sandbox.Command{}, err
	}
	env, err := s.env.Build(w.env)
	if err != nil {
		return sandbox.Command{}, err
	}
	d := p.Judge(policy.Request{
		Text: w.text, Argv: w.argv, Shell: s.shell, Dir: dir, Home: s.home, Workspace: s.dirs, Env: env, Input: w.input, Links: links{},
	})
	rules := s.rules()
	approved, err := d.Approved()
	if err != nil && d.Verdict() == policy.Ask && s.settings.Text("ask") == "elicit" {
		approved, err = s.consent(ctx, d, dir)
		rules.UnsafeUnrestricted = escalates(d) // sudo works outside of the sandbox only
	}
	if err != nil {
		return sandbox.Command{}, err
	}
	l, err := approved.Launch()
	if err != nil {
		return sandbox.Command{}, err
	}
	path, err := programFile(l.Argv[0], l.Env["PATH"], l.Dir)
	return sandbox.Command{Path: path, Args: l.Argv, Env: process.Entries(l.Env), Dir: l.Dir, Rules: rules, Limits: s.bounds()}, err
}

// rules are what commands may touch besides the system and the tool folders.
func (s *shell) rules() sandbox.Rules {
	return sandbox.Rules{
		Read: append(s.settings.List("read-path"), s.dirs...), Write: append(slices.Clone(s.dirs), s.cache),
		Temp: s.temp, Network: s.settings.Bool("network"),
	}
}

// mostProcesses is how many one command may have at once.
const mostProcesses = 512

func (s *shell) bounds() sandbox.Limits {
	return sandbox.Limits{Memory: s.settings.Size("max-memory"), Processes: mostProcesses, FileSize: s.settings.Size("max-file-size")}
}

// escalates says whether a command asks for other rights than the user has.
func escalates(d policy.Decision) bool {
	return slices.ContainsFunc(d.Findings(), func(f policy.Finding) bool { return f.Effect == effect.Escalate })
}

// consent asks the person for exactly this decision.
func (s *shell) consent(ctx context.Context, d policy.Decision, dir string) (policy.Command, error) {
	_, refused := d.Approved()
	why := fault.From(refused)
	err := toolkit.Confirm(ctx, toolkit.Question{
		ID:    d.ID(),
		Title: "Run this command?",
		Text:  "in " + dir + ", because " + why.Msg + ":\n\n" + quoted(d.Text()),
	})
	switch {
	case err == nil:
		return d.Confirmed(d.ID())
	case fault.From(err).Details["answer"] == "unsupported": // nobody can be asked; the refusal names the rule that would allow it
		return policy.Command{}, why.With("answer", "unsupported")
	}
	return policy.Command{}, err
}

// quoted marks each line of a command, so that none can pass for a line of the question.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// workdir is the directory that a client names, which has to be allowed; without one,
// the first allowed directory.
func (s *shell) workdir(ctx context.Context, name string) (string, error) {
	if name == "" {
		return s.dirs[0], nil
	}
	p, err := s.scope.Parse(ctx, name)
	if err != nil {
		return "", err
	}
	info, err := p.Stat()
	if err != nil {
		return "", err
	}
	if info.Type != confine.Directory {
		return "", fault.New(fault.ParamInvalid, "the working directory is no directory", "Name a directory").With("path", p.String())
	}
	return p.Abs(), nil
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

// Follow implements place.Links.
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
