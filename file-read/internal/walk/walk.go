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
	Ahead     int            // entries worked on before those that come first are delivered; 0 for 128
	Listings  Listings       // nil: every directory is read
	After     string         // what comes before this File.Rel is left out, but for the directories above it
}

// Listings remembers what directories held, for all who walk. A listing that may be
// older than what its stamp can tell is for the one who remembers to refuse; those of
// file systems that are not of this machine are not offered.
type Listings interface {
	Recall(dir confine.Path, at confine.Stamp) (Listing, bool)
	Remember(dir confine.Path, at confine.Stamp, l Listing)
}

// deeper says whether the entries of a directory at this depth are visited.
func (o *Options) deeper(depth int) bool {
	return o.Recursive && (o.MaxDepth == 0 || depth < o.MaxDepth)
}

// File is an entry of the tree.
type File struct {
	Dir   *confine.Dir // the directory it is in; open while it is worked on or visited
	Name  string
	Type  confine.Type
	Depth int // 1 in the directory walked

	in *folder
}

// Rel is the path from the directory walked, with slashes.
func (f File) Rel() string { return f.in.rel(f.Name) }

// Path is the path for others, as Dir's with the name.
func (f File) Path() confine.Path { return f.in.path.Child(f.Name) }

// Open opens a regular file, relative to its directory.
func (f File) Open() (*os.File, confine.Info, error) { return f.Dir.Open(f.Name) }

// OpenReader opens a regular file into r, relative to its directory.
func (f File) OpenReader(r *confine.Reader) error {
	return f.Dir.OpenListed(confine.Entry{Name: f.Name, Type: f.Type}, r)
}

// Stamp is the version of the file, which need not be opened for that, and what it is.
func (f File) Stamp() (confine.Stamp, confine.Type, error) { return f.Dir.StampOf(f.Name) }

// Recalled says that its directory was not read, because Options.Listings knew it.
func (f File) Recalled() bool { return f.in.recalled }

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

func (s *Skipped) add(t Skipped) {
	s.Ignored += t.Ignored
	s.Hidden += t.Hidden
	s.Denied += t.Denied
	s.Unreadable += t.Unreadable
	s.Links += t.Links
	s.Special += t.Special
	s.Excluded += t.Excluded
}
