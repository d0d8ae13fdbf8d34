//go:build !linux && !darwin

package terminal

import (
	"context"
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// line is nothing here: there are no terminals on this system yet.
type line struct{}

func none() error {
	return fault.New(fault.Unavailable, "there are no terminals on this system", "Run commands with shell_execute")
}

func openLine(func() (ours, theirs *os.File, err error), screen.Size) (*line, *os.File, error) {
	return nil, nil, none()
}
func (*line) resize(screen.Size) error                   { return none() }
func (*line) group() (int, error)                        { return 0, none() }
func (*line) read([]byte) (int, error)                   { return 0, none() }
func (*line) write(context.Context, []byte) (int, error) { return 0, none() }
func (*line) modes() (modes, error)                      { return modes{}, none() }
func (*line) unread() (left, known bool)                 { return false, false }
func (*line) close() error                               { return nil }

func members(int) []member         { return nil }
func program(int) string           { return "" }
func arguments(int) []string       { return nil }
func startedFrom(int, string) bool { return false }
func directory(int) string         { return "" }
func ignoresInterrupt(int) bool    { return true }
func signalNumber(string) int      { return 0 }
func listens(int) bool             { return false }
