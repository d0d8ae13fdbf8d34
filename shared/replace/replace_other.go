//go:build !linux && !darwin

package replace

import (
	"context"
	"io"
	"os"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// On other platforms, Windows among them, nothing here changes a file in one step and
// keeps its access rights: every change is refused.
var errPlatform = fault.New(fault.Unavailable, "files cannot be changed safely on this platform", "Run the server on Linux or macOS")

// state refuses in the place of the Writer that it is part of.
type state struct{}

func (*state) create(context.Context, confine.Path, []byte, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*state) createFrom(context.Context, confine.Path, io.Reader, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*state) replace(context.Context, confine.Path, []byte, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*state) update(context.Context, confine.Path, func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	return Result{}, errPlatform
}

func (*state) makeDirs(context.Context, confine.Path) ([]confine.Path, error) {
	return nil, errPlatform
}

func (*state) removeDir(context.Context, confine.Path) error { return errPlatform }

func (*Writer) remove(context.Context, confine.Path, func(*os.File, confine.Info) error) error {
	return errPlatform
}

func (*Writer) removeTree(context.Context, confine.Path, func(*confine.Dir, Tree) error) error {
	return errPlatform
}

func (*Writer) link(context.Context, confine.Path, string) error { return errPlatform }

func (*Writer) move(context.Context, confine.Path, confine.Path, MoveOptions) (MoveResult, error) {
	return MoveResult{}, errPlatform
}

func sweep(context.Context, confine.Path, int) (int, error) { return 0, errPlatform }
