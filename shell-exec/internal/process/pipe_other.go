//go:build !unix

package process

import (
	"os"

	"github.com/multiollama/mcp-server/shared/fault"
)

func unavailable() error {
	return fault.New(fault.Unavailable, "commands cannot be run on this system yet", "Use Linux or macOS")
}

func outputPipe() (ours, theirs *os.File, err error) { return nil, nil, unavailable() }

func inputPipe() (theirs, ours *os.File, err error) { return nil, nil, unavailable() }

func (d *drain) rest([]byte) {}
