package walk

import (
	"io"
	"slices"

	"github.com/multiollama/mcp-server/shared/confine"
)

// maxRules is how many bytes of one file with rules are read; the rest is left
// out. It bounds the time that one entry can take.
const maxRules = 256 << 10

// scopeOf is the scope in a directory: that of the directory above it and its
// own rules. base is the length of its path from the top. git reads a .gitignore
// only if it is a regular file (CVE-2021-21300 made it stop following links).
func scopeOf(dir *confine.Dir, entries []confine.Entry, base int, above *scope) *scope {
	s := above
	own := false
	for _, e := range entries {
		switch {
		case len(e.Name) < len(".git") || e.Name[0] != '.':
		case e.Name == ".git" && e.Type == confine.Directory:
			s = (*scope)(nil).within(base, readRules(dir.Path().Child(".git").Child("info").Child("exclude").OpenReader))
		case e.Name == ".git" && e.Type == confine.File: // of a submodule or a linked work tree
			s = nil
		case e.Name == ".gitignore" && e.Type == confine.File:
			own = true
		}
	}
	if !own {
		return s
	}
	return s.within(base, readRules(func(r *confine.Reader) error { return dir.OpenReader(".gitignore", r) }))
}

// readRules reads a file with rules; one that cannot be read has none.
func readRules(open func(*confine.Reader) error) rules {
	var r confine.Reader
	if open(&r) != nil {
		return nil
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(&r, maxRules))
	if err != nil {
		return nil
	}
	return parseRules(string(data))
}

// fromAbove is the scope that root inherits if it lies within a git work tree,
// and the path to it from the top of that.
func fromAbove(root confine.Path) (full string, s *scope) {
	below := []string{root.Base()} // the names on the way down from dir, the last first
	for dir, ok := root.Parent(); ok; dir, ok = dir.Parent() {
		if info, err := dir.Child(".git").Stat(); err == nil && (info.Type == confine.Directory || info.Type == confine.File) {
			return downTo(dir, below)
		}
		below = append(below, dir.Base())
	}
	return "", nil
}

// downTo gathers the rules of a work tree from its top down to, and without, the
// last of the directories named.
func downTo(top confine.Path, below []string) (full string, s *scope) {
	s = (*scope)(nil).within(0, readRules(top.Child(".git").Child("info").Child("exclude").OpenReader))
	dir := top
	for _, name := range slices.Backward(below) {
		s = s.within(len(full), readRules(dir.Child(".gitignore").OpenReader))
		full += name + "/"
		dir = dir.Child(name)
	}
	return full, s
}
