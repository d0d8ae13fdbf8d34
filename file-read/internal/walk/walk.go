// Package walk goes through a directory tree in the order of its names and
// leaves out what git ignores.
//
// It refuses to follow a symbolic link, to open anything except through package
// confine, to hold more than a bounded number of directories open, and to fail
// because of one entry: what cannot be read, or vanishes on the way, is counted.
//
// The ignore rules are those of gitignore(5): the .gitignore files of every
// directory and .git/info/exclude, matched with case. A directory that holds
// .git starts anew, whatever is ignored above it. The rules of the directory
// walked and of those beneath it hold in any case, those above it only where one
// of them, as far up as may be read, holds .git. Not read are core.excludesFile and the index of git: a
// file that is tracked in spite of a rule is left out too.
package walk

import (
	"os"
	"sync/atomic"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/glob"
)

// Options say what is visited. The zero value visits the entries of the
// directory itself, without those that begin with a dot.
type Options struct {
	Recursive bool           // also beneath the directories in it
	Gitignore bool           // leave out what git ignores, and .git
	Hidden    bool           // also names that begin with a dot
	MaxDepth  int            // levels, 1 being the directory itself; 0 for no limit
	Exclude   []glob.Pattern // of File.Rel; a directory is left out with all in it
}

// File is an entry of the tree.
type File struct {
	Dir   *confine.Dir // the directory it is in; open as long as the call it is handed to
	Name  string
	Rel   string // path from the directory walked, with slashes
	Type  confine.Type
	Path  confine.Path
	Depth int // 1 in the directory walked

	held *shared
}

// Open opens a regular file, relative to its directory.
func (f File) Open() (*os.File, confine.Info, error) { return f.Dir.Open(f.Name) }

// Skipped counts what was not visited. What lies in a directory that was left
// out is not counted; .git neither.
type Skipped struct {
	Ignored    int `json:"ignored,omitempty"`
	Hidden     int `json:"hidden,omitempty"`
	Denied     int `json:"denied,omitempty"`     // by the rules of the confinement
	Unreadable int `json:"unreadable,omitempty"` // directories that could not be listed, wholly or to the end
	Links      int `json:"links,omitempty"`      // symbolic links; only Each leaves them out
	Special    int `json:"special,omitempty"`    // devices, sockets, FIFOs; only Each leaves them out
	Excluded   int `json:"excluded,omitempty"`
}

// Step says how the walk goes on after an entry.
type Step int

const (
	Continue Step = iota // into the entry if it is a directory, then to the next
	SkipDir              // not into the directory; after anything else, out of its directory
	Stop                 // nowhere
)

// shared is a directory that is closed when the last of its users is done.
type shared struct {
	*confine.Dir
	users atomic.Int32
}

func newShared(d *confine.Dir) *shared {
	s := &shared{Dir: d}
	s.users.Store(1)
	return s
}

func (s *shared) retain() { s.users.Add(1) }

func (s *shared) release() {
	if s.users.Add(-1) == 0 {
		_ = s.Close() // it was only read
	}
}
