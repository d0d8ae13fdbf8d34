// Package walk goes through a directory tree in the order of its names and
// leaves out what git ignores.
//
// It never follows a symbolic link, never opens anything except through package
// confine, never holds more than a bounded number of directories open, and never fails
// because of one entry: what cannot be read, or vanishes on the way, is counted.
//
// The ignore rules are those of gitignore(5): the .gitignore files of every
// directory and .git/info/exclude, matched with case. The rules above a directory that
// contains .git do not apply in it. The rules of the directory walked and of those under
// it always apply, those above it only where one of them, as far up as may be read,
// contains .git. Not read are core.excludesFile and the index of git: a file that is
// tracked in spite of a rule is left out too.
package walk

import (
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/glob"
)

// Options say what is visited. The zero value visits the entries of the
// directory itself, without those that begin with a dot.
type Options struct {
	Recursive bool           // also under the directories in it
	Gitignore bool           // leave out what git ignores, and .git
	Hidden    bool           // also names that begin with a dot
	MaxDepth  int            // levels, 1 being the directory itself; 0 for no limit
	Exclude   []glob.Pattern // of File.Rel; a directory is left out with all in it
	Ahead     int            // entries worked on before those that come first are delivered; 0 for 128
	Workers   int            // goroutines; 0 for one per processor
	After     string         // what comes before this File.Rel is left out, but for the directories above it

	// Recall, if not nil, returns the remembered listing of a directory with this stamp,
	// which then is not read. Remember, if not nil, gets every listing that was read,
	// except of file systems that are not local; it must refuse one that may be older
	// than what its stamp shows.
	Recall   func(dir confine.Path, at confine.Stamp) (Listing, bool)
	Remember func(dir confine.Path, at confine.Stamp, l Listing)
}

// File is an entry of the tree.
type File struct {
	Dir   *confine.Dir // the directory it is in; open while it is worked on
	Name  string
	Type  confine.Type
	Depth int // 1 in the directory walked

	in *folder
}

// Rel is the path from the directory walked, with slashes.
func (f File) Rel() string { return f.in.rel(f.Name) }

// Path is the path of the entry.
func (f File) Path() confine.Path { return f.in.path.Child(f.Name) }

// OpenReader opens a regular file into r, relative to its directory.
func (f File) OpenReader(r *confine.Reader) error {
	return f.Dir.OpenListed(confine.Entry{Name: f.Name, Type: f.Type}, r)
}

// Stamp is the version of the file, which need not be opened for that, and what it is.
func (f File) Stamp() (confine.Stamp, confine.Type, error) { return f.Dir.StampOf(f.Name) }

// Recalled says that its directory was not read, because Options.Recall knew it.
func (f File) Recalled() bool { return f.in.recalled }

// Skipped counts what was not visited. What is in a directory that was left out is not
// counted, nor is .git.
type Skipped struct {
	Ignored    int
	Hidden     int
	Denied     int // by the rules of the confinement
	Unreadable int // directories that could not be listed, wholly or to the end
	Links      int // symbolic links; only Each leaves them out
	Special    int // devices, sockets, FIFOs; only Each leaves them out
	Excluded   int
}

func (s *Skipped) add(t Skipped) {
	s.Ignored += t.Ignored
	s.Hidden += t.Hidden
	s.Denied += t.Denied
	s.Unreadable += t.Unreadable
	s.Links += t.Links
	s.Special += t.Special
	s.Excluded += t.Excluded
}
