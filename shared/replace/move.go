package replace

import (
	"context"
	"os"

	"github.com/multiollama/mcp-server/shared/confine"
)

// MoveOptions narrow or widen a move.
type MoveOptions struct {
	// Overwrite lets a regular file take the place of another, and of nothing else.
	Overwrite bool
	// Replaced is shown the file that goes, before it goes. Its error ends the move.
	Replaced func(f *os.File, info confine.Info) error
}

// MoveResult is what a move has done by the time it is told: both names are on the disk.
type MoveResult struct {
	Replaced  bool // another file was there and is gone
	Directory bool
	Copied    bool // the file is on another file system now, and so another file
}

// Move gives what is under from the name to, in one step. Nothing is overwritten unless
// o.Overwrite is set; both files then change places, what came out is looked at, and
// both go back where it is not the file that o.Replaced was shown. What arrived is
// looked at too: where it is not what was judged, it goes back. Both is tried again a
// few times; after that it is fault.Unavailable.
//
// The directory of to must be there. A symbolic link under either name is
// fault.Forbidden; a directory into itself, a name onto itself and two hard links of one
// file are fault.ParamInvalid. A directory is gone through first, as for RemoveTree, and
// everything in it is asked about under both names.
//
// A file for another file system is copied, with its permissions, times and attributes
// and, where possible, its owner, and removed when the copy is on the disk and still the
// same; a directory is fault.Unavailable then. Where a file system cannot rename without
// overwriting, a file gets its second name before it loses the first, and for a directory
// a look at the new name decides: an empty directory that another program makes there at
// that instant is lost. Where two files cannot change places, a last look at both does,
// but a file from another file system is fault.Unavailable.
//
// A process that is killed meanwhile leaves the file under the old name or the new one,
// whole, or under both; one that it was to replace may then be under the old name.
func (w *Writer) Move(ctx context.Context, from, to confine.Path, o MoveOptions) (MoveResult, error) {
	return w.move(ctx, from, to, o)
}
