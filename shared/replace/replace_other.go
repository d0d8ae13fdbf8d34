//go:build !linux && !darwin

package replace

import (
	"context"
	"io"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// On other platforms, Windows among them, nothing here changes a file in one step and
// keeps its access rights: every change is refused.
var errPlatform = fault.New(fault.Unavailable, "files cannot be changed safely on this platform", "Run the server on Linux or macOS")

type state struct{}

func (*Writer) create(context.Context, confine.Path, []byte, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) createFrom(context.Context, confine.Path, io.Reader, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) replace(context.Context, confine.Path, []byte, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) update(context.Context, confine.Path, func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) makeDirs(context.Context, confine.Path) ([]confine.Path, error) {
	return nil, errPlatform
}

func (*Writer) removeDir(context.Context, confine.Path) error { return errPlatform }

func sweep(confine.Path, int) (int, error) { return 0, errPlatform }
