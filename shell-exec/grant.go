package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shell-exec/internal/bounds"
	"github.com/multiollama/mcp-server/shell-exec/internal/pathclass"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// hold is what holds the commands that this client starts now.
func (s *shell) hold(b bounds.Bounds) policy.Sandbox {
	h := holdOf(s.settings)
	h.Files, h.Offline = h.Files && s.box.confines(), h.Rights && !b.Network
	return h
}

// holdOf is what holds commands by the settings, on a machine that keeps its promises.
func holdOf(set *settings.Set) policy.Sandbox {
	if set.Text("sandbox") == "off" || runtime.GOOS == "windows" {
		return policy.Sandbox{}
	}
	return policy.Sandbox{Files: true, Rights: true, Offline: !set.Bool("network"), Always: set.Text("sandbox") == "required", Read: set.List("read-path"),
		Containers: slices.ContainsFunc(set.List("allow-socket"), func(path string) bool {
			return slices.ContainsFunc([]string{"docker", "podman", "containerd"}, func(name string) bool { return strings.Contains(filepath.Base(path), name) })
		})}
}

// grant is what a yes gives one command beyond what all commands have.
type grant struct {
	read, write []*confine.Grant // files, open since before the question
	program     string           // to be run outside the sandbox; "" for none
	dir         *confine.Grant   // where that runs, open since before the question
}

// grant finds what a yes to d would have to open beyond rules, or why it cannot.
func (s *shell) grant(d policy.Decision, rules sandbox.Rules, path, dir string) (g grant, err error) {
	open := []string{rules.Temp.Path()}
	for _, w := range rules.Write {
		open = append(open, w.Path())
	}
	// Where commands write, also those of before a restriction, they can swap what is there.
	swapped := append(slices.Clone(open), s.dirs...)
	for _, f := range d.Asked() {
		if f.Opens == "" {
			continue
		}
		file, err := s.openable(f)
		switch {
		case err == nil && beneath(file.Path(), open): // a link leads back to what is open
		case err != nil || beneath(file.Path(), swapped):
			return g, fault.New(fault.Forbidden, fmt.Sprintf("the command is refused: %s; %s is not a regular file that this user may open for it", f.Why, text.Escape(f.Opens)),
				"Do it another way, or ask the user to run it").With("rule", f.Rule).Because(err)
		case f.Writes:
			g.write = append(g.write, file)
		default:
			g.read = append(g.read, file)
		}
	}
	if alone := d.Lifted(); len(alone) > 0 {
		file, err := programFile(alone[0], path, dir)
		g.program = links{}.Follow(file)
		if err != nil || !gainsRoot(g.program) || beneath(g.program, swapped) {
			return g, fault.New(fault.Forbidden, "the command is refused: this machine has no "+text.Escape(alone[0])+" that belongs to root and has the set-user-ID bit, so it gains no rights",
				"Do it without other rights, or ask the user to run it").With("rule", "escalate").Because(err)
		}
		if g.dir, err = confine.OpenGrant(dir, nil); err != nil || !beneath(g.dir.Path(), open) {
			return g, fault.New(fault.OutsideAllowed, "the working directory was moved, removed or replaced", "Choose one inside an allowed directory").With("path", dir).Because(err)
		}
	}
	return g, nil
}

// openable is the file that f would have opened, where its links lead now, as the question shows it: a regular one
// that this user may open, and none of the kernel's or this server's own.
func (s *shell) openable(f policy.Finding) (*confine.Grant, error) {
	file, err := confine.OpenGrant(f.Opens, nil)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(file.Path())
	if err != nil || !info.Mode().IsRegular() || beneath(file.Path(), []string{"/proc", "/sys", "/dev"}) || s.belongs(file.Path()) {
		return nil, errors.Join(err, os.ErrInvalid)
	}
	flag := os.O_RDONLY
	if f.Writes {
		flag = os.O_RDWR
	}
	opened, err := os.OpenFile(file.Path(), flag, 0)
	if err != nil {
		return nil, err
	}
	return file, errors.Join(opened.Close(), file.Check())
}

// belongs says that a file belongs to the servers: their state, audit log, configuration, tokens and keys.
func (s *shell) belongs(file string) bool {
	own, _ := s.own.Exposed([]string{file}, s.settings.Text("policy"))
	return own != "" || s.own.Within([]string{file}) != ""
}

func beneath(file string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return pathclass.Under(file, links{}.Follow(dir)) })
}

// add puts into the rules of one start what was agreed to.
func (g grant) add(r *sandbox.Rules) {
	r.Read, r.Write = slices.Concat(r.Read, g.read), slices.Concat(r.Write, g.write)
	r.UnsafeUnrestricted = g.program != ""
}
