package hosts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
)

// place is a file of a host. ~ is the home directory, %NAME% a variable, and
// NAME the server's.
type place struct {
	os      string // empty: every system that has no row of its own
	path    string
	project bool   // under the directory of a project
	note    string // for people
}

// everywhere is the os of a row that is added to those of each system.
const everywhere = "any"

// moved names a variable with the path to use in place of the directory instead.
type moved struct{ variable, instead string }

// System is what a place depends on.
type System struct {
	OS      string   // as runtime.GOOS has it
	Environ []string // as os.Environ has it
	Dir     string   // the directory of the project
	// Exists says whether there is something under a path.
	Exists func(string) bool
}

// places are those of the user or of a project on that system.
func (h Host) places(goos string, project bool) []place {
	of := func(os string) (rows []place) {
		for _, p := range h.where {
			if p.os == os && p.project == project {
				rows = append(rows, p)
			}
		}
		return rows
	}
	own := of(goos)
	if own == nil {
		own = of("")
	}
	return append(own, of(everywhere)...)
}

// Where says in words where the entry belongs on that system.
func (h Host) Where(goos string) string {
	var words []string
	for _, p := range append(h.places(goos, false), h.places(goos, true)...) {
		word := p.path
		if p.project {
			word += " in the project"
		}
		if p.note != "" {
			word += " (" + p.note + ")"
		}
		words = append(words, word)
	}
	if words == nil {
		return h.dialog
	}
	return strings.Join(words, ", or ")
}

// File is the file of the user, or of the project, that the entry called name
// belongs in: of several the one that is there, or whose directory is.
func (h Host) File(s System, project bool, name string) (string, error) {
	var paths []string
	for _, p := range h.places(s.OS, project) {
		path, err := s.expand(p, h.moved, name)
		if err != nil {
			return "", err
		}
		paths = append(paths, path)
	}
	switch {
	case len(paths) > 0:
	case h.dialog != "":
		return "", fault.New(fault.Unavailable, h.Title+" has no configuration file, only a dialog",
			fmt.Sprintf("Paste what config %s prints at %s", h.Name, h.dialog))
	case project:
		return "", fault.New(fault.Unavailable, h.Title+" has no configuration file of a project", "Leave --project out")
	default:
		return "", fault.New(fault.Unavailable, fmt.Sprintf("%s has no configuration file of the user on %s", h.Title, s.OS),
			"Use --project or --file")
	}
	parentExists := func(path string) bool { return s.Exists(s.parent(path)) }
	for _, found := range []func(string) bool{s.Exists, parentExists} {
		if i := slices.IndexFunc(paths, found); i >= 0 {
			return paths[i], nil
		}
	}
	return paths[0], nil
}

// Here says that the host seems to be on this machine: its file is there, or the
// directory that the file belongs in, where that is not the home directory itself.
func (h Host) Here(s System) bool {
	for _, p := range h.places(s.OS, false) {
		path, err := s.expand(p, h.moved, "")
		if err != nil {
			continue
		}
		parent := s.parent(path)
		if s.Exists(path) || parent != s.home() && s.Exists(parent) {
			return true
		}
	}
	return false
}

// expand is the path of p, in the system's own spelling.
func (s System) expand(p place, m moved, name string) (string, error) {
	path := strings.ReplaceAll(p.path, "NAME", name)
	if p.project {
		return s.spell(s.Dir + "/" + path), nil
	}
	if dir := s.variable(m.variable); dir != "" && strings.HasPrefix(path, m.instead+"/") {
		return s.spell(dir + strings.TrimPrefix(path, m.instead)), nil
	}
	if rest, found := strings.CutPrefix(path, "~/.config/"); found && s.OS == "linux" {
		if dir := s.variable("XDG_CONFIG_HOME"); strings.HasPrefix(dir, "/") { // a relative one is ignored (XDG Base Directory Specification 0.8)
			return dir + "/" + rest, nil
		}
	}
	if rest, found := strings.CutPrefix(path, "~"); found {
		home := s.home()
		if home == "" {
			return "", fault.New(fault.Misconfigured, "there is no home directory in the environment", "Name the file with --file")
		}
		return s.spell(home + rest), nil
	}
	_, after, _ := strings.Cut(path, "%")
	variable, rest, _ := strings.Cut(after, "%")
	dir := s.variable(variable)
	if dir == "" {
		return "", fault.New(fault.Misconfigured, "the variable "+variable+" is not set", "Name the file with --file")
	}
	return dir + rest, nil
}

func (s System) spell(path string) string {
	if s.OS == "windows" {
		return strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

func (s System) home() string { return settings.Home(s.OS, s.Environ) }

func (s System) variable(name string) string { return settings.Lookup(s.OS, s.Environ, name) }

// parent is the path before the last separator.
func (s System) parent(path string) string {
	separators := "/"
	if s.OS == "windows" {
		separators = `/\`
	}
	if i := strings.LastIndexAny(path, separators); i >= 0 {
		return path[:i]
	}
	return ""
}
