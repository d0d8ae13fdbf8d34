package terminal

import (
	"fmt"
	"maps"
	"slices"

	"github.com/multiollama/mcp-server/shared/fault"
)

// ShellCommand is how a shell is started to be typed at, without the files that people have for it: what is typed is
// judged as what its name says. The first word is the program.
func ShellCommand(shell string) ([]string, error) {
	for _, argv := range [][]string{
		{"bash", "--noprofile", "--norc", "-i"},
		{"sh", "-i"},
		{"zsh", "-f", "-i"},
		{"fish", "--no-config", "--private", "-i"},
	} {
		if argv[0] == shell {
			return slices.Clone(argv), nil
		}
	}
	return nil, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no shell type %q here", shell), "Use bash, sh, zsh or fish").
		With("parameter", "shell_type")
}

// Environment is an environment of commands as it is in a terminal: TERM says which, and what keeps a program from asking,
// paging and colouring is not there, since somebody sits before it.
func Environment(given map[string]string) map[string]string {
	all := maps.Clone(given)
	for name, value := range map[string]string{"CI": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"} {
		if all[name] == value {
			delete(all, name)
		}
	}
	if all == nil {
		all = map[string]string{}
	}
	all["TERM"] = "xterm-256color"
	return all
}
