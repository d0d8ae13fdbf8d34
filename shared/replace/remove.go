package replace

import (
	"context"
	"os"

	"github.com/multiollama/mcp-server/shared/confine"
)

// Tree is what is beneath a directory. Links are entries of their own, never followed.
type Tree struct {
	Files, Dirs, Links int
	Bytes              int64 // of the files
}

// Remove takes the file p away if it is still the one that look was shown: it gets a
// name that nobody else knows, is looked at, and unlinked, or put back where it is not
// the same. In that case, and only then, look is called again, a few times; after that
// it is fault.Unavailable. look reads f from its start and may keep what is in it; its
// error ends the removal. Where something new took the name before another's version
// could go back, that version stays beside it, under the name in kept_as of the details.
//
// A file that is read-only is fault.PermissionDenied, as it would be for Replace, and a
// symbolic link fault.Forbidden. What Remove cannot see is a program that keeps the file
// open and writes into it after it was looked at, nor, where times are coarser than the
// kernel's clock, a write of the same length in the instant of the last one.
func (w *Writer) Remove(ctx context.Context, p confine.Path, look func(f *os.File, info confine.Info) error) error {
	return w.remove(ctx, p, look)
}

// RemoveTree takes the directory p away, with everything beneath it, if nothing in it
// has changed since look was shown it. All of it is found first, at most 100,000
// entries, and each is asked about; then look is called with the open directory and the
// counts. The directory gets a name that nobody else knows, is gone through again, put
// back where anything is not as it was (fault.Exists), and else emptied by descriptors.
//
// What a process that is killed meanwhile leaves, Sweep removes: look has been shown
// everything before the directory gets that name. FIFOs, sockets, devices, other file
// systems and read-only directories are refused, as are links under the name itself;
// read-only files in the directory are not. Where another program writes into the
// directory although its name is gone, the removal ends at what it wrote, and what is
// left is put back (changed in the details).
func (w *Writer) RemoveTree(ctx context.Context, p confine.Path, look func(d *confine.Dir, s Tree) error) error {
	return w.removeTree(ctx, p, look)
}

// Link makes a symbolic link with the text target, for putting back what was one. It
// never overwrites. Where the link leads is judged when somebody opens it.
func (w *Writer) Link(ctx context.Context, p confine.Path, target string) error {
	return w.link(ctx, p, target)
}
