package terminal

import (
	"fmt"
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
