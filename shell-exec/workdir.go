package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/bounds"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
)

var workdirSpec = toolkit.Spec{
	Name: "shell_set_default_workdir", Title: "Set the default working directory", Toolset: "shell", Effect: toolkit.Runs, Idempotent: true,
	Doc: "Set the directory in which commands and terminals start that name none.",
}

// workdir is the default working directory: that of the operator, or what a client has
// set since.
type workdir struct {
	mu  sync.Mutex
	dir string // "": none was chosen
}

func (w *workdir) get() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dir
}

func (w *workdir) set(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dir = dir
}

// ground is where a command works: the directories that it may change, and among them
// the one it starts in.
type ground struct {
	dirs   []string
	grants []*confine.Grant // the same, open
	dir    string
}

// ground is the one for a directory that a client names, which has to be allowed; "" is
// the default one.
func (s *shell) ground(ctx context.Context, b bounds.Bounds, name string) (ground, error) {
	roots, err := b.Scope.Roots(ctx)
	if err != nil {
		return ground{}, err
	}
	g := ground{dirs: roots.Dirs()}
	if len(g.dirs) == 0 {
		return ground{}, fault.New(fault.OutsideAllowed, "no directory is left in which a command may work", "Ask the person who runs this server to allow one")
	}
	if g.grants, err = roots.Grants(); err != nil {
		return ground{}, err
	}
	if name == "" {
		g.dir = s.defaultDir(g.dirs)
		return g, nil
	}
	g.dir, err = directory(ctx, b.Scope, name)
	return g, err
}

// defaultDir is where commands start that name no directory.
func (s *shell) defaultDir(dirs []string) string {
	dir := s.base.get()
	if slices.ContainsFunc(dirs, func(root string) bool { return dir != "" && pathclass.Under(dir, root) }) {
		return dir
	}
	return dirs[0]
}

// standing is the default directory as this client has it; "" where there is none left.
func (s *shell) standing(ctx context.Context) string {
	g, err := s.ground(ctx, s.held.Now(), "")
	if err != nil {
		return ""
	}
	return g.dir
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
	b := s.held.Now()
	before, err := s.ground(ctx, b, "")
	if err != nil {
		return workdirOut{}, err
	}
	dir, err := directory(ctx, b.Scope, in.Dir)
	if err != nil {
		return workdirOut{}, err
	}
	s.base.set(dir)
	out := workdirOut{Success: true, Dir: dir, Default: dir, Changed: dir != before.dir, Terminals: []string{}, Busy: []string{}}
	if in.Existing {
		err = s.moveTerminals(ctx, &out)
	}
	return out, err
}

// moveTerminals types a change of directory in every terminal whose shell waits for a
// command.
func (s *shell) moveTerminals(ctx context.Context, out *workdirOut) error {
	open, err := s.openTerminals()
	if err != nil {
		return err
	}
	for _, t := range open {
		_, err := s.send(ctx, sendIn{ID: t.ID, Input: "cd " + quotedWord(out.Dir), Execute: true, To: "sessionleader:"})
		if err != nil {
			out.Busy = append(out.Busy, t.ID)
			continue
		}
		out.Terminals = append(out.Terminals, t.ID)
	}
	return nil
}

// quotedWord is a text as one word of any shell.
func quotedWord(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Text is the new directory.
func (o workdirOut) Text() string {
	return "Commands start in " + o.Default + " now, unless they name another directory.\n"
}
