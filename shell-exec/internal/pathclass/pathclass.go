// Package pathclass says where a path lies: in the workspace or outside it, among the
// system's files, among credentials, on a disk.
//
// It refuses to guess: a path whose beginning is not known lies nowhere known, and the
// zero Class is that. It looks at a disk only through what it is given, [Links].
package pathclass

import (
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// Class is a kind of place.
type Class int

// The places.
const (
	Unknown    Class = iota // not known before the command runs
	Workspace               // something in the workspace
	Root                    // the workspace itself, or all that is in it
	History                 // .git as a whole
	Repository              // something in .git
	Trigger                 // runs code later: .git/hooks, .git/config, configuration of editors and agents
	Temporary               // something in a temporary directory
	Shared                  // a temporary directory itself
	Harmless                // /dev/null and its like
	Disk                    // a device that holds a file system, or memory
	Device                  // another device
	Vital                   // /, the home directory, a directory of the system, one that the workspace is in
	System                  // something of the system
	Accounts                // accounts, programs, boot: what the machine stands on
	Secret                  // credentials
	Startup                 // what later shells and logins run
	Outside                 // anything else
)

// Links tells where a name leads when symbolic links are followed. A name that does
// not exist leads to itself, its directory's links followed.
type Links interface{ Follow(path string) string }

// Map knows where things are.
type Map struct {
	Home      string
	Workspace []string // the directories that may be worked in
	Temporary []string // besides /tmp and /var/tmp
	Links     Links    // nil: paths are taken as they are written
}

// Of says where the absolute or relative path t lies, seen from dir. Links on the way
// are followed; last says that one in the last component is followed too. Of the path
// as written and the path as it leads, the worse place counts.
func (m *Map) Of(dir string, t cmdline.Text, last bool) Class {
	p, all, ok := Absolute(dir, t)
	if !ok {
		return Unknown
	}
	written := m.of(p, all)
	if m.Links == nil || written == Harmless || written == Disk || written == Device {
		return written
	}
	return worse(written, m.of(m.follow(p, last), all))
}

// Leads is where the path leads when all its links are followed.
func (m *Map) Leads(dir string, t cmdline.Text) cmdline.Text {
	p, _, ok := Absolute(dir, t)
	if !ok || m.Links == nil {
		return p
	}
	return m.follow(p, true)
}

func worse(a, b Class) Class {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}

var severity = []Class{Harmless, Temporary, Workspace, Unknown, Shared, Outside, Repository, Root, Startup, Secret, Trigger, Device, System, History, Accounts, Disk, Vital}

func (m *Map) follow(p cmdline.Text, last bool) cmdline.Text {
	known, rest := p, ""
	if i := strings.IndexFunc(p, cmdline.IsMark); i >= 0 {
		cut := strings.LastIndexByte(p[:i], '/')
		known, rest = p[:cut], p[cut:]
	} else if !last && p != "/" {
		known, rest = path.Dir(p), "/"+path.Base(p)
	}
	if known == "" {
		return p
	}
	return path.Clean(m.Links.Follow(known) + rest)
}

// Absolute makes t absolute and cleans it. all says that it names everything in the
// directory that is returned; ok is false where the beginning is not known.
func Absolute(dir string, t cmdline.Text) (p cmdline.Text, all, ok bool) {
	if t == "" {
		return "", false, false
	}
	if !strings.HasPrefix(t, "/") {
		if dir == "" || strings.IndexFunc(t, unknown) == 0 {
			return t, false, false
		}
		t = dir + "/" + t
	}
	p = path.Clean(t)
	for isEverything(path.Base(p)) {
		p, all = path.Dir(p), true
	}
	return p, all, true
}

func unknown(r rune) bool { return r == cmdline.Hole || r == cmdline.Gap }

// isEverything knows the patterns that leave nothing out: *, .*, *.*, ?*, ** and .[!.]*.
func isEverything(name cmdline.Text) bool {
	return name != "" && strings.Trim(name, "."+string(cmdline.Star)+string(cmdline.Any)) == "" && strings.ContainsRune(name, cmdline.Star) ||
		cmdline.Plain(name) == ".[!.]*" || cmdline.Plain(name) == ".[^.]*"
}

// of is Of for a cleaned path. Where a part is a pattern or not known, what stands
// before it decides.
func (m *Map) of(p cmdline.Text, all bool) Class {
	i := strings.IndexFunc(p, cmdline.IsMark)
	if i < 0 {
		return m.known(p, all)
	}
	fixed := path.Clean(p[:strings.LastIndexByte(p[:i], '/')+1])
	only := !cmdline.Unknown(p)
	if fixed == "/" {
		if only {
			return Vital // /b*, /*x
		}
		return Unknown
	}
	switch in := m.known(fixed, false); in {
	case Root:
		return m.patternInRoot(p, only)
	case Shared:
		return Temporary
	case Vital:
		return m.patternInVital(fixed, only)
	default:
		return in
	}
}

// patternInRoot: .g* in the workspace finds .git as well.
func (m *Map) patternInRoot(p cmdline.Text, only bool) Class {
	if ok, err := path.Match(cmdline.Plain(path.Base(p)), ".git"); only && ok && err == nil {
		return History
	}
	if base := path.Base(p); strings.ContainsFunc(base, unknown) { // .g$x may be .git
		before, after := base[:strings.IndexFunc(base, unknown)], base[strings.LastIndexFunc(base, unknown)+len(string(cmdline.Hole)):]
		if before+after != "" && strings.HasPrefix(".git", before) && strings.HasSuffix(".git", after) {
			return Unknown
		}
	}
	return Workspace
}

func (m *Map) patternInVital(fixed string, only bool) Class {
	switch {
	case only && top[strings.Trim(fixed, "/")]:
		return Vital
	case fixed == m.Home || IsSystem(fixed) && fixed != "/home":
		if fixed == m.Home {
			return Outside
		}
		return System
	}
	return Outside
}

func (m *Map) known(p string, all bool) Class {
	if p == "/" || p == "/dev" {
		return Vital
	}
	if rest, ok := strings.CutPrefix(p, "/dev/"); ok {
		return device(rest)
	}
	for _, root := range m.Workspace {
		if p == root {
			return Root
		}
		if rest, ok := strings.CutPrefix(p, root+"/"); ok {
			return inWorkspace(rest)
		}
	}
	above := m.above(p) // which counts in a temporary directory too
	if where, ok := m.temporary(p); ok && (where == Shared || !above) {
		return where
	}
	if above {
		return Vital
	}
	if rest, ok := strings.CutPrefix(p, m.Home+"/"); ok && m.Home != "" {
		return inHome(rest)
	}
	return inSystem(p, all)
}

// above: a directory that the workspace or the home directory is in.
func (m *Map) above(p string) bool {
	if m.Home != "" && Under(m.Home, p) {
		return true
	}
	return slices.ContainsFunc(m.Workspace, func(root string) bool { return Under(root, p) })
}

// homeIn: the home directory lies in dir, and is nearer to what is in it than dir is.
func (m *Map) homeIn(dir string) bool { return m.Home != "" && m.Home != dir && Under(m.Home, dir) }

func (m *Map) temporary(p string) (Class, bool) {
	for _, dir := range slices.Concat(temporaries, m.Temporary) {
		switch {
		case dir == "" || dir == "/" || !Under(p, dir), m.homeIn(dir) && Under(p, m.Home):
		case p == dir:
			return Shared, true
		default:
			return Temporary, true
		}
	}
	return Unknown, false
}

// Under says that p is dir or beneath it.
func Under(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
