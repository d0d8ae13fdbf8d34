package output

import (
	"context"
	"os"
	"runtime"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// hold locks f for this process, and for a child that inherits it. Who asks whether a file is held has it for a moment.
func hold(ctx context.Context, f *os.File) error {
	if runtime.GOOS == "windows" { // a child does not inherit locks there, so none says whether a run goes on
		return fault.New(fault.Unavailable, "this platform has no file locks for a store of outputs", "")
	}
	return flock.Wait(ctx, f, "the stored outputs")
}
