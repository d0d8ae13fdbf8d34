//go:build !linux && !darwin

package replace

import (
	"context"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// On other platforms, Windows among them, nothing here changes a file in one step and
// keeps its access rights: every change is refused.
var errPlatform = fault.New(fault.Unavailable, "files cannot be changed safely on this platform", "Run the server on Linux or macOS")

func (at *place) key() (key, error) { return key{}, errPlatform }

func (at *place) alone(context.Context, func(*place) (Result, error)) (Result, error) {
	return Result{}, errPlatform
}

func (at *place) create(context.Context, []byte) (Result, error)  { return Result{}, errPlatform }
func (at *place) replace(context.Context, []byte) (Result, error) { return Result{}, errPlatform }

func (at *place) update(context.Context, func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	return Result{}, errPlatform
}

func sweep(confine.Path, int) (int, error) { return 0, errPlatform }
