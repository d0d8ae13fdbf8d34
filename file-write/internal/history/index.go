package history

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// index is what the lines of the index file say. Its order is the order in which
// changes were kept, whatever the clock was.
type index struct {
	head    []byte         // the first line: a rewritten index has another one
	size    int64          // bytes of the file that were read
	kept    []Change       // oldest first
	refs    map[string]int // changes per object
	bytes   int64          // of objects that have a change
	dead    int            // lines that a rewrite would leave out
	damaged [][]byte       // lines that cannot be read, newlines included
}

// line is one line of the file. The sum finds damage that is still JSON: a changed
// letter in a path would restore a content to the wrong place.
type line struct {
	Sum   string          `json:"sum"` // of Entry's bytes
	Entry json.RawMessage `json:"entry"`
}

// entry is one of the three things that a line says.
type entry struct {
	Generation string   `json:"generation,omitempty"`
	Kept       *record  `json:"kept,omitempty"`
	Gone       []string `json:"gone,omitempty"` // ids
}

// record is a Change in the file. The bytes are there where a path is not UTF-8, which
// JSON cannot hold.
type record struct {
	Change
	PathBytes []byte `json:"path_bytes,omitempty"`
	ToBytes   []byte `json:"to_bytes,omitempty"`
}

func recordOf(c Change) *record {
	r := &record{Change: c}
	if !utf8.ValidString(c.Path) {
		r.PathBytes = []byte(c.Path)
	}
	if !utf8.ValidString(c.To) {
		r.ToBytes = []byte(c.To)
	}
	return r
}

func newID() string { return strings.ToLower(rand.Text()) }

// validID reports whether id looks like one of newID's.
func validID(id string) bool {
	return len(id) == 26 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func validSum(sum string) bool { return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == "" }

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func encode(e entry) ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	b, err = json.Marshal(line{Sum: sumOf(b), Entry: b})
	return append(b, '\n'), err
}

// decode checks the names of a change: nothing else from the file is used as a name.
func decode(b []byte) (e entry, ok bool) {
	var l line
	if json.Unmarshal(b, &l) != nil || l.Sum != sumOf(l.Entry) || json.Unmarshal(l.Entry, &e) != nil {
		return entry{}, false
	}
	r := e.Kept
	if r == nil {
		return e, true
	}
	if r.PathBytes != nil {
		r.Path = string(r.PathBytes)
	}
	if r.ToBytes != nil {
		r.To = string(r.ToBytes)
	}
	return e, validID(r.ID) && r.Bytes >= 0 && (validSum(r.SHA256) || r.SHA256 == "" && !r.holds())
}

// read takes in whole lines that follow what was read so far. A damaged one hides no
// other.
func (ix *index) read(lines []byte) {
	for l := range bytes.Lines(lines) {
		ix.size += int64(len(l))
		e, ok := decode(l)
		switch {
		case !ok:
			ix.damaged = append(ix.damaged, bytes.Clone(l))
		case e.Kept != nil:
			ix.kept = append(ix.kept, e.Kept.Change)
			ix.count(e.Kept.Change, 1)
		case len(e.Gone) > 0:
			gone := make(map[string]bool, len(e.Gone))
			for _, id := range e.Gone {
				gone[id] = true
			}
			ix.dead++
			ix.kept = slices.DeleteFunc(ix.kept, func(c Change) bool {
				if gone[c.ID] {
					ix.dead++
					ix.count(c, -1)
				}
				return gone[c.ID]
			})
		}
	}
}

// count adds n to the changes that have the content of c.
func (ix *index) count(c Change, n int) {
	if !c.holds() {
		return
	}
	if ix.refs == nil {
		ix.refs = map[string]int{}
	}
	before := ix.refs[c.SHA256]
	ix.refs[c.SHA256] = before + n
	switch {
	case before == 0:
		ix.bytes += c.Bytes
	case before+n == 0:
		delete(ix.refs, c.SHA256)
		ix.bytes -= c.Bytes
	}
}

func (ix *index) get(id string) (Change, error) {
	if !validID(id) {
		return Change{}, fault.New(fault.ParamMalformed, "this is not the id of a change",
			"Use an id as it was listed: 26 small letters and digits")
	}
	i := slices.IndexFunc(ix.kept, func(c Change) bool { return c.ID == id })
	if i < 0 {
		return Change{}, fault.New(fault.NotFound, "the history has no change with this id, or no longer",
			"List the changes to see what is there").With("id", id)
	}
	return ix.kept[i], nil
}

// surplus returns what has to go, oldest first: what is too old, and what is too much.
// The change that is being kept is last and fits alone: its draft was no larger than
// l.Bytes, and its time is now.
func (ix *index) surplus(l Limits, maxChanges int, now time.Time) []Change {
	var gone []Change
	total, count, freed := ix.bytes, len(ix.kept), map[string]int{}
	for _, c := range ix.kept {
		if now.Sub(c.Time) <= l.Age && total <= l.Bytes && count <= maxChanges {
			continue
		}
		gone = append(gone, c)
		count--
		freed[c.SHA256]++
		if c.holds() && freed[c.SHA256] == ix.refs[c.SHA256] {
			total -= c.Bytes
		}
	}
	return gone
}

// refresh reads what was added to the index since it was last read, or all of it where it
// was rewritten. The lock is held, so a line without an end is one that a crash cut: its
// Keep never returned, and it is cut off.
func (s *Store) refresh() error {
	f, err := s.root.OpenFile(indexName, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		s.index = index{}
		return s.rewrite()
	}
	if err != nil {
		return err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return err
	}
	start := make([]byte, 256)
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return err
	}
	head, _, _ := bytes.Cut(start[:n], []byte("\n"))
	if !bytes.Equal(head, s.index.head) || info.Size() < s.index.size {
		s.index = index{head: head}
		if err := syncDir(s.root, "."); err != nil { // whoever rewrote it may have died before that
			return err
		}
	}

	added, err := io.ReadAll(io.NewSectionReader(f, s.index.size, info.Size()-s.index.size))
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(added, '\n') + 1
	if whole < len(added) {
		if err := f.Truncate(s.index.size + int64(whole)); err != nil {
			return err
		}
	}
	s.index.read(added[:whole])
	if s.index.size == 0 {
		return s.rewrite()
	}
	return nil
}

// rewrite replaces the index by one without dead lines. Damaged lines stay: the
// contents they named are then known to be somebody's. The draft needs no lock: drafts
// are swept under the store's lock.
func (s *Store) rewrite() error {
	all, err := encode(entry{Generation: newID()})
	if err != nil {
		return err
	}
	head := bytes.TrimSuffix(bytes.Clone(all), []byte("\n"))
	for _, l := range s.index.damaged {
		all = append(all, l...)
	}
	for _, c := range s.index.kept {
		l, err := encode(entry{Kept: recordOf(c)})
		if err != nil {
			return err
		}
		all = append(all, l...)
	}

	name := draftName()
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(all); err == nil {
		err = syncData(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.root.Rename(name, indexName)
	}
	if err != nil {
		return errors.Join(err, s.root.Remove(name))
	}
	if err := syncDir(s.root, "."); err != nil {
		return err
	}
	s.index = index{head: head}
	s.index.read(all)
	return nil
}
