// Package milestones knows where lines lie in large files: how many line feeds stand
// before every 64 KiB. It counts as far as somebody asks, on two processors, and
// remembers the counts of the last few files.
//
// It refuses to remember what may be wrong. Counts belong to one version of a file, as
// its stamp tells it (device, inode, size, both times), and are kept only if the file
// still had that stamp after they were made, and had it long enough before that every
// change since would have shown: clocks of file systems stand still for a while. A file
// that grew is another version. What no stamp shows is not seen here either: bytes
// written through a mapping show when the system writes them back. It refuses to grow:
// a file has at most 16,384 milestones, at greater distances if it is larger. And it
// opens nothing: it reads what it is given.
package milestones

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/shared/confine"
)

const (
	files     = 8               // whose milestones are remembered
	perFile   = 16 << 10        // milestones of a file; 8 bytes each
	least     = 64 << 10        // bytes between two
	calm      = 2 * time.Second // a file that changed less long ago is not trusted: the clock of FAT stands still for that
	Worthless = 8 << 20         // bytes of a file below which milestones are not worth their while
)

// Memory remembers milestones. It may be used by many at once.
type Memory struct {
	now func() time.Time

	mu    sync.Mutex
	known []version // the last one used first
}

// version is the milestones of one version of a file. They do not change; more of them
// are another value.
type version struct {
	stamp confine.Stamp
	counts
}

// New remembers nothing yet.
func New(now func() time.Time) *Memory { return &Memory{now: now} }

// File is an open file of that version.
type File struct {
	io.ReaderAt
	Stamp confine.Stamp
	// Again is the version that the file has now.
	Again func() (confine.Stamp, error)
}

// Before is the last milestone before a line, or before the end of the file if that
// comes first. The zero Place is the start.
func (m *Memory) Before(ctx context.Context, f File, line int64) (lines.Place, error) {
	began := m.now()
	known := m.find(f.Stamp)
	counted, err := known.through(ctx, f, line)
	if err != nil {
		return lines.Place{}, err
	}
	if len(counted.before) > len(known.before) && calmSince(f.Stamp, began) {
		if now, err := f.Again(); err == nil && now == f.Stamp {
			m.keep(version{f.Stamp, counted})
		}
	}
	return counted.place(line), nil
}

// calmSince says that a change after began gave the file another stamp. A file without
// an inode has none that tells.
func calmSince(s confine.Stamp, began time.Time) bool {
	return s.Ino != 0 && max(s.Modified, s.Changed) < began.Add(-calm).UnixNano()
}

// find is what is known of a version: nothing, or some of its milestones.
func (m *Memory) find(s confine.Stamp) counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.known, func(v version) bool { return v.stamp == s })
	if i < 0 {
		return newCounts(s.Size)
	}
	v := m.known[i]
	copy(m.known[1:], m.known[:i])
	m.known[0] = v
	return v.counts
}

// keep remembers v in place of what was known of the same file, unless that is more.
func (m *Memory) keep(v version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := func(o version) bool { return o.stamp.SameFile(v.stamp) }
	if i := slices.IndexFunc(m.known, same); i >= 0 {
		if old := m.known[i]; old.stamp == v.stamp && len(old.before) >= len(v.before) {
			return
		}
		m.known = slices.Delete(m.known, i, i+1)
	}
	m.known = slices.Insert(m.known, 0, v)
	m.known = m.known[:min(len(m.known), files)]
}
