package main

import (
	"context"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
)

// workspace is where a command works: the directories that it may change, and among them
// the one it starts in.
type workspace struct {
	dirs   []string
	grants []*confine.Grant // the same, open
	dir    string
}

// workspace is the one for a directory that a client names, which has to be allowed; "" is
// the default one: that of the operator, or what a client has set since.
func (s *shell) workspace(ctx context.Context, l limits, name string) (workspace, error) {
	roots, err := l.scope.Roots(ctx)
	if err != nil {
		return workspace{}, err
	}
	w := workspace{dirs: roots.Dirs()}
	if len(w.dirs) == 0 {
		return workspace{}, fault.New(fault.OutsideAllowed, "no directory is left in which a command may work",
			"Ask the person who runs this server to allow one")
	}
	if w.grants, err = roots.Grants(); err != nil {
		return workspace{}, err
	}
	if name != "" {
		w.dir, err = directory(ctx, l.scope, name)
		return w, err
	}
	w.dir = w.dirs[0]
	if dir := s.workdir.Load(); dir != nil && slices.ContainsFunc(w.dirs, func(root string) bool { return effect.Under(*dir, root) }) {
		w.dir = *dir
	}
	return w, nil
}

// defaultDir is the default directory as this client has it; "" where there is none left.
func (s *shell) defaultDir(ctx context.Context) string {
	w, err := s.workspace(ctx, s.limits.now(), "")
	if err != nil {
		return ""
	}
	return w.dir
}

// directory is the one that a client means.
func directory(ctx context.Context, scope *confine.Scope, name string) (string, error) {
	p, err := scope.Parse(ctx, name)
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

var workdirSpec = toolkit.Spec{
	Name: "shell_set_default_workdir", Title: "Set the default working directory", Toolset: "shell", Effect: toolkit.Runs, Idempotent: true,
	Doc: "Set the directory in which commands and terminals start that name none.",
}

type workdirIn struct {
	Dir      string `json:"working_directory" path:"read"`
	Existing bool   `json:"apply_to_existing_sessions,omitempty" doc:"Also in terminals that wait at a prompt."`
}

type workdirOut struct {
	Success   bool     `json:"success"`
	Dir       string   `json:"working_directory"`
	Default   string   `json:"default_working_directory"`
	Changed   bool     `json:"working_directory_changed"`
	Terminals []string `json:"changed_terminals"`
	Busy      []string `json:"unchanged_terminals" doc:"A program runs in them."`
}

func (s *shell) setWorkdir(ctx context.Context, in workdirIn) (workdirOut, error) {
	l := s.limits.now()
	before, err := s.workspace(ctx, l, "")
	if err != nil {
		return workdirOut{}, err
	}
	dir, err := directory(ctx, l.scope, in.Dir)
	if err != nil {
		return workdirOut{}, err
	}
	s.workdir.Store(&dir)
	out := workdirOut{Success: true, Dir: dir, Default: dir, Changed: dir != before.dir, Terminals: []string{}, Busy: []string{}}
	if !in.Existing {
		return out, nil
	}

	// A change of directory is typed in every terminal whose shell waits for a command, as one word of any shell.
	open, err := s.openTerminals()
	if err != nil {
		return out, err
	}
	cd := "cd '" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	for _, t := range open {
		if _, err := s.send(ctx, sendIn{ID: t.ID, Input: cd, Execute: true, To: "sessionleader:"}); err != nil {
			out.Busy = append(out.Busy, t.ID)
			continue
		}
		out.Terminals = append(out.Terminals, t.ID)
	}
	return out, nil
}

// Text is the new directory.
func (o workdirOut) Text() string {
	return "Commands start in " + o.Default + " now, unless they name another directory.\n"
}
