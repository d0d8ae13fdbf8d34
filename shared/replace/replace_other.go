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

type state struct{}

func (*Writer) Create(context.Context, confine.Path, []byte, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) CreateFrom(context.Context, confine.Path, io.Reader, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) Replace(context.Context, confine.Path, []byte, Options) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) Update(context.Context, confine.Path, func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	return Result{}, errPlatform
}

func (*Writer) MakeDirs(context.Context, confine.Path) ([]confine.Path, error) {
	return nil, errPlatform
}

func (*Writer) RemoveDir(context.Context, confine.Path) error { return errPlatform }

func (*Writer) Remove(context.Context, confine.Path, func(*os.File, confine.Info) error) error {
	return errPlatform
}

func (*Writer) RemoveTree(context.Context, confine.Path, func(*confine.Dir, Tree) error) error {
	return errPlatform
}

func (*Writer) Link(context.Context, confine.Path, string) error { return errPlatform }

func (*Writer) Move(context.Context, confine.Path, confine.Path, MoveOptions) (MoveResult, error) {
	return MoveResult{}, errPlatform
}

func (*Writer) Sweep(context.Context, confine.Path) (int, error) { return 0, errPlatform }
