package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shell-exec/internal/effect"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// restrictions are those of the commands that this client starts now.
func (s *shell) restrictions(l limits) policy.Sandbox {
	r := restrictionsBy(s.settings)
	r.Files = r.Files && s.sandbox.wait() == nil && s.sandbox.sandbox.Confines() // commands open only what their rules name
	r.Offline = r.Rights && !l.network
	return r
}

// containerService is in the name of a socket by which a container service is commanded.
var containerService = regexp.MustCompile("docker|podman|containerd")

// restrictionsBy are those that the settings ask for, on a machine that can enforce them.
func restrictionsBy(set *settings.Set) policy.Sandbox {
	if set.Text("sandbox") == "off" || runtime.GOOS == "windows" {
		return policy.Sandbox{}
	}
	commands := func(socket string) bool { return containerService.MatchString(filepath.Base(socket)) }
	return policy.Sandbox{
		Files: true, Rights: true, Offline: !set.Bool("network"), Always: set.Text("sandbox") == "required", Read: set.List("read-path"),
		Containers: slices.ContainsFunc(set.List("allow-socket"), commands),
	}
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
		case err == nil && inside(file.Path(), open): // a link leads back to what is open
		case err != nil || inside(file.Path(), swapped):
			why := f.Why + "; " + text.Escape(f.Opens) + " is not a regular file that this user may open for it"
			return g, fault.New(fault.Forbidden, "the command is refused: "+why, "Do it another way, or ask the user to run it").
				With("rule", f.Rule).Because(err)
		case f.Writes:
			g.write = append(g.write, file)
		default:
			g.read = append(g.read, file)
		}
	}
	if alone := d.Lifted(); len(alone) > 0 {
		file, err := programFile(alone[0], path, dir)
		g.program = links{}.Follow(file)
		if err != nil || !gainsRoot(g.program) || inside(g.program, swapped) {
			return g, fault.New(fault.Forbidden, "the command is refused: this machine has no "+text.Escape(alone[0])+
				" that belongs to root and has the set-user-ID bit, so it gains no rights", "Do it without other rights, or ask the user to run it").
				With("rule", "escalate").Because(err)
		}
		if g.dir, err = confine.OpenGrant(dir, nil); err != nil || !inside(g.dir.Path(), open) {
			return g, fault.New(fault.OutsideAllowed, "the working directory was moved, removed or replaced",
				"Choose one inside an allowed directory").With("path", dir).Because(err)
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
	if err != nil || !info.Mode().IsRegular() || inside(file.Path(), []string{"/proc", "/sys", "/dev"}) {
		return nil, errors.Join(err, os.ErrInvalid)
	}
	own, _ := s.own.Exposed([]string{file.Path()}, s.settings.Text("policy"))
	if own != "" || s.own.Within([]string{file.Path()}) != "" { // state, audit log, configuration, tokens and keys of the servers
		return nil, os.ErrInvalid
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

// inside says that the file is in one of the directories, where their links lead now.
func inside(file string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return effect.Under(file, links{}.Follow(dir)) })
}
