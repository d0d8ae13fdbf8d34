package replace

import (
	"context"
	"errors"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// Sweep removes what a killed process has left in the directory p, but not beneath:
// regular files and whole directories of this user under a name that only drafts have.
// It is for the start of a program. Where another server is writing at the moment it removes nothing, and
// where directories cannot be locked it is fault.Unavailable.
//
// A draft is left over by a kill between two steps: on a file system without unnamed
// files (O_TMPFILE) at any moment of a write, elsewhere only in the instant in which a
// complete draft takes the place of the old file. What was being removed or moved over
// is a draft in that sense too: the caller was shown all of it before it got the name.
func (*Writer) Sweep(ctx context.Context, p confine.Path) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, fault.From(err)
	}
	d, err := p.OpenDir()
	if err != nil {
		return 0, err
	}
	err = d.LendDir(func(fd uintptr) (err error) {
		removed, err = sweep(ctx, p, int(fd))
		return err
	})
	if err = errors.Join(err, d.Close()); err != nil {
		return removed, fault.From(err)
	}
	return removed, nil
}
