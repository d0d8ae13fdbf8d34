package terminal

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Process is what is in the foreground of a terminal.
type Process struct {
	PID    int
	Name   string   // as the system calls it
	Path   string   // of the program; "" where this user may not know
	Args   []string // likewise
	Leader bool     // it is the first process of the session, the shell as a rule
}

// Program is the name of its file; as the system calls it, where that may not be known.
func (p Process) Program() string {
	if p.Path == "" {
		return p.Name
	}
	return filepath.Base(p.Path)
}

// member is a living process of a group.
type member struct {
	pid     int
	name    string
	waiting bool // for a child of its own, and for nothing else
}

// foreground is the group that has the keyboard.
type foreground struct {
	group   int
	readers []member // those that could read; the leader of the group first
	session bool     // it is the group of the session's first process
}

// foreground asks the terminal, and the system who that is.
func (s *session) foreground() foreground {
	group, err := s.line.group()
	if err != nil || group <= 0 {
		return foreground{}
	}
	all := members(group)
	slices.SortFunc(all, func(a, b member) int {
		switch {
		case a.pid == b.pid:
			return 0
		case a.pid == group:
			return -1
		case b.pid == group:
			return 1
		}
		return a.pid - b.pid
	})
	readers := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.waiting })
	if len(readers) == 0 {
		readers = all
	}
	return foreground{group: group, readers: readers, session: group == s.tree.PID()}
}

// process is the one that the group is named by; the zero Process where there is none.
func (f foreground) process() Process {
	if len(f.readers) == 0 {
		return Process{}
	}
	m := f.readers[0]
	return Process{PID: m.pid, Name: m.name, Path: program(m.pid), Args: arguments(m.pid), Leader: f.session && m.pid == f.group}
}

// shells are programs that run what is typed at them, and those that hand on to such a one what they read.
const shells = "bash sh dash zsh fish ksh mksh ksh93 ash busybox rbash csh tcsh pwsh nu elvish xonsh osh yash rc es " +
	"su sudo doas ssh mosh-client tmux screen script expect unbuffer rlwrap socat nsenter unshare chroot docker podman kubectl lxc machinectl"

// shell says whether what is typed now would be read as commands, as far as the names of programs tell. Where nobody is
// known to read, it is the shell that will.
func (f foreground) shell() bool {
	if len(f.readers) == 0 {
		return true
	}
	known := strings.Fields(shells)
	return slices.ContainsFunc(f.readers, func(m member) bool {
		exe := program(m.pid)
		return exe == "" || slices.Contains(known, filepath.Base(exe)) || slices.Contains(known, strings.TrimPrefix(m.name, "-"))
	})
}

// Guard is what the caller believes to be in the foreground: a name, a whole path, pid:N, sessionleader:, or * for anything.
type Guard string

// holds says whether it is.
func (g Guard) holds(f foreground) (bool, error) {
	word := string(g)
	switch {
	case word == "" || word == "*":
		return true, nil
	case word == "sessionleader:":
		return f.session, nil
	case strings.HasPrefix(word, "pid:"):
		pid, err := strconv.Atoi(word[len("pid:"):])
		if err != nil || pid <= 0 {
			return false, malformedGuard(word)
		}
		return slices.ContainsFunc(f.readers, func(m member) bool { return m.pid == pid }), nil
	case strings.HasSuffix(word, ":") || strings.ContainsAny(word, "\n\x00"):
		return false, malformedGuard(word)
	case filepath.IsAbs(word):
		return slices.ContainsFunc(f.readers, func(m member) bool { return startedFrom(m.pid, word) }), nil
	}
	return slices.ContainsFunc(f.readers, func(m member) bool {
		cut := len(m.name) == systemName && strings.HasPrefix(word, m.name)
		return m.name == word || cut || filepath.Base(program(m.pid)) == word
	}), nil
}

func malformedGuard(word string) error {
	return fault.New(fault.ParamMalformed, fmt.Sprintf("send_to %q names no program", word),
		"Use the name of a program, its whole path, pid:12345, sessionleader: or *").With("parameter", "send_to")
}

// systemName is how many bytes of a name the system keeps.
const systemName = 15

// check refuses where the guard does not hold.
func (g Guard) check(f foreground) error {
	holds, err := g.holds(f)
	if err != nil || holds {
		return err
	}
	p := f.process()
	what := "nothing that can be told"
	if p.PID != 0 {
		what = fmt.Sprintf("%s (process %d)", p.Name, p.PID)
	}
	return fault.New(fault.Forbidden, fmt.Sprintf("%s is in the foreground of the terminal, not %s; nothing was sent", what, string(g)),
		"Look at the terminal, and name the program that is there, or * for any").
		With("send_to", string(g)).With("foreground", p.Name).With("foreground_pid", p.PID)
}
