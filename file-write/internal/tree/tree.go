// Package tree makes one stream of a directory with everything beneath it, and a
// directory of such a stream: for the history, which keeps what a deletion takes away.
//
// The stream is a tar archive (PAX) of regular files, directories and symbolic links.
// What it cannot give back it refuses to take: a FIFO, socket or device, an entry that
// the deny rules hide, a name that package confine does not open, a file that changes
// while it is read. Owners, access control lists, extended attributes and what made
// two names one file are not in it.
//
// From a stream it takes nothing but what it writes itself, so no other tar program's
// archive, and reaches files only as entries of directories it has made. It refuses
// names with more than one way to read them, and sets no executable bit.
package tree

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/multiollama/mcp-server/shared/fault"
)

// What one archive may hold.
const (
	MostEntries  = 100_000
	MostBytes    = 1 << 40  // of contents
	mostLinkText = 16 << 20 // of all links together, which Unpack has in memory
	mostDepth    = 512      // directories in one another, which Pack has open
	longestPath  = 4000     // bytes of an absolute name; one of 4096 can no longer be opened (PATH_MAX)
	longestLink  = 4095     // bytes of a link's text (PATH_MAX)
)

// Count is what an archive holds. The directory itself is not in it.
type Count struct {
	Files, Dirs, Links int
	Bytes              int64 // of the files
	Executable         int   // files that could be executed, and cannot when they come back
}

func (c Count) entries() int { return c.Files + c.Dirs + c.Links }

func (c *Count) addFile(size int64, executable bool) {
	c.Files++
	c.Bytes += size
	if executable {
		c.Executable++
	}
}

// within refuses what would be more than an archive may hold.
func (c Count) within(linkText int) error {
	e := fault.New(fault.LimitReached, "", "Work on its directories one by one")
	switch {
	case c.entries() > MostEntries:
		e.Msg = fmt.Sprintf("the directory has more than %d entries", MostEntries)
		return e.With("limit_entries", MostEntries)
	case c.Bytes > MostBytes:
		e.Msg = fmt.Sprintf("the directory holds more than %d bytes", int64(MostBytes))
		return e.With("limit_bytes", int64(MostBytes))
	case linkText > mostLinkText:
		e.Msg = fmt.Sprintf("the symbolic links of the directory have more than %d bytes of text", mostLinkText)
		return e.With("limit_bytes", mostLinkText)
	}
	return nil
}

// plainName says whether name is one that package confine opens as it stands.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/") && strings.IndexFunc(name, unicode.IsControl) < 0
}

// shown is a name as messages carry it: quoted, so that it cannot forge a line.
func shown(name string) string {
	const most = 256
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}
