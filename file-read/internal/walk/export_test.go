package walk

import (
	"os"
	"path"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
)

// Oracle answers for paths in a tree of which only the files with rules are
// known: name to content.
type Oracle struct{ files map[string]string }

func NewOracle(files map[string]string) *Oracle { return &Oracle{files} }

// Ignores goes down to a file or directory as the walk does.
func (o *Oracle) Ignores(name string, dir bool) bool {
	s := (*scope)(nil).within(0, parseRules(o.files[".git/info/exclude"]))
	full := ""
	for {
		s = s.within(len(full), parseRules(o.files[path.Join(full, ".gitignore")]))
		component, rest, more := strings.Cut(name[len(full):], "/")
		if s.ignores(full, component, more || dir) {
			return true
		}
		if !more {
			return false
		}
		full = name[:len(name)-len(rest)]
	}
}

// judgePath is judge for a path from the rules' directory.
func (rs rules) judgePath(path string, dir bool) verdict {
	i := strings.LastIndexByte(path, '/') + 1
	return rs.judge(path[:i], path[i:], dir)
}

func (s *byteSet) has(c byte) bool { return s[c/64]&(1<<(c%64)) != 0 }

// Open opens a regular file, relative to its directory.
func (f File) Open() (*os.File, confine.Info, error) { return f.Dir.Open(f.Name) }
