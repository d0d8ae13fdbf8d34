package process

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Environment is what the operator decides about the environment of commands.
type Environment struct {
	Server []string          // the server's own variables, each NAME=value
	Pass   []string          // names to pass besides the usual ones; a * stands for any part of a name
	Set    map[string]string // set for every command
	Path   string            // in place of the server's PATH (LoginPath); "": that one

	// Terminal says that somebody types and looks: nothing is made neutral for want of a person.
	Terminal bool
}

// passed are the variables of the server that commands get.
const passed = "PATH HOME USER LANG LC_* TERM TZ TMPDIR SHELL"

// neutral keeps programs from asking, paging and colouring: nobody sits there. Whoever wants it otherwise sets it. In a
// terminal they may, as xterm would.
func (e Environment) neutral() map[string]string {
	if e.Terminal {
		return map[string]string{"TERM": "xterm-256color"}
	}
	return map[string]string{
		"CI": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1", "TERM": "dumb",
	}
}

// Build is the complete environment of a command whose caller wishes for the variables given. Later ones win: what passes
// from the server, the neutral ones, those the operator named or set, the caller's.
func (e Environment) Build(given map[string]string) (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := allowed(name, given[name]); err != nil {
			return nil, err
		}
	}
	all := e.server(strings.Fields(passed))
	if e.Path != "" {
		all["PATH"] = e.Path
	}
	maps.Copy(all, e.neutral())
	maps.Copy(all, e.server(e.Pass))
	maps.Copy(all, e.Set)
	maps.Copy(all, given)
	if e.Terminal && all["LC_ALL"]+all["LC_CTYPE"]+all["LANG"] == "" {
		all["LANG"] = "C.UTF-8" // a screen shows more than ASCII
	}
	return all, nil
}

// server is the server's variables whose names one of the patterns matches.
func (e Environment) server(patterns []string) map[string]string {
	found := map[string]string{}
	for _, entry := range e.Server {
		name, value, ok := strings.Cut(entry, "=")
		if ok && matchesAny(patterns, name) {
			found[name] = value
		}
	}
	return found
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// Entries is an environment as a command gets it, in the order of names.
func Entries(environment map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		all = append(all, name+"="+environment[name])
	}
	return all
}

// allowed says whether a caller may set the variable.
func allowed(name, value string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return fault.New(fault.ParamMalformed, fmt.Sprintf("%q cannot be the name of a variable", name),
			"Use a name without = and NUL").With("parameter", "environment_variables")
	}
	if strings.Contains(value, "\x00") {
		return fault.New(fault.ParamMalformed, fmt.Sprintf("the value of %s holds a NUL", name),
			"Leave it out").With("parameter", "environment_variables")
	}
	for _, row := range refused {
		harmless := row.but != "" && (value == "" || slices.Contains(strings.Fields(row.but), value))
		if matchesAny(strings.Fields(row.names), name) && !harmless {
			return fault.New(fault.Forbidden, fmt.Sprintf("the variable %s may not be set: %s", name, row.because),
				"Set it within the command, where it is judged with it, or leave it out").
				With("parameter", "environment_variables").With("variable", name)
		}
	}
	return nil
}
