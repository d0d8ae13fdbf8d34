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
)

// index is what the lines of the index file say. Its order is the order in which
// changes were kept, whatever the clock said.
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
// letter in a path would put a content back in the wrong place.
type line struct {
	Sum   string          `json:"sum"` // of Entry's bytes
	Entry json.RawMessage `json:"entry"`
}

// entry is one of the three things that a line tells.
type entry struct {
	Generation string   `json:"generation,omitempty"`
	Kept       *record  `json:"kept,omitempty"`
	Gone       []string `json:"gone,omitempty"` // ids
}

// record is a Change in the file.
type record struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	Path      string    `json:"path"`
	PathBytes []byte    `json:"path_bytes,omitempty"` // where the path is not UTF-8, which JSON cannot hold
	To        string    `json:"to,omitempty"`
	ToBytes   []byte    `json:"to_bytes,omitempty"` // like PathBytes
	Op        string    `json:"op"`
	Tool      string    `json:"tool"`
	RequestID string    `json:"request_id"`
	SHA256    string    `json:"sha256"`
	Bytes     int64     `json:"bytes"`
	Mode      uint32    `json:"mode"`
	Existed   bool      `json:"existed"`
	Tree      bool      `json:"tree,omitempty"`
}

func recordOf(c Change) *record {
	return &record{ID: c.ID, Time: c.Time, Path: c.Path, PathBytes: unspeakable(c.Path), To: c.To, ToBytes: unspeakable(c.To),
		Op: c.Op, Tool: c.Tool, RequestID: c.RequestID, SHA256: c.SHA256, Bytes: c.Bytes, Mode: uint32(c.Mode), Existed: c.Existed, Tree: c.Tree}
}

// unspeakable is the bytes of a name that JSON cannot hold, nil of any other.
func unspeakable(name string) []byte {
	if utf8.ValidString(name) {
		return nil
	}
	return []byte(name)
}

func (r *record) change() Change {
	c := Change{ID: r.ID, Time: r.Time, Path: r.Path, To: r.To, Op: r.Op, Tool: r.Tool, RequestID: r.RequestID,
		SHA256: r.SHA256, Bytes: r.Bytes, Mode: fs.FileMode(r.Mode), Existed: r.Existed, Tree: r.Tree}
	if r.PathBytes != nil {
		c.Path = string(r.PathBytes)
	}
	if r.ToBytes != nil {
		c.To = string(r.ToBytes)
	}
	return c
}

// valid says that the names of r can be used as names: nothing else from the file is.
func (r *record) valid() bool {
	return validID(r.ID) && r.Bytes >= 0 && (validSum(r.SHA256) || r.SHA256 == "" && !r.change().holds())
}

func newID() string { return strings.ToLower(rand.Text()) }

// validID says whether id looks like one of newID's.
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

func decode(b []byte) (entry, bool) {
	var l line
	var e entry
	if json.Unmarshal(b, &l) != nil || l.Sum != sumOf(l.Entry) || json.Unmarshal(l.Entry, &e) != nil {
		return entry{}, false
	}
	return e, e.Kept == nil || e.Kept.valid()
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
			ix.add(e.Kept.change())
		case len(e.Gone) > 0:
			ix.remove(e.Gone)
		}
	}
}

func (ix *index) add(c Change) {
	ix.kept = append(ix.kept, c)
	if !c.holds() {
		return
	}
	if ix.refs == nil {
		ix.refs = map[string]int{}
	}
	ix.refs[c.SHA256]++
	if ix.refs[c.SHA256] == 1 {
		ix.bytes += c.Bytes
	}
}

func (ix *index) remove(ids []string) {
	gone := make(map[string]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	ix.dead++
	ix.kept = slices.DeleteFunc(ix.kept, func(c Change) bool {
		if !gone[c.ID] {
			return false
		}
		ix.dead++
		ix.release(c)
		return true
	})
}

func (ix *index) release(c Change) {
	if !c.holds() {
		return
	}
	ix.refs[c.SHA256]--
	if ix.refs[c.SHA256] == 0 {
		delete(ix.refs, c.SHA256)
		ix.bytes -= c.Bytes
	}
}

func (ix *index) find(id string) (Change, bool) {
	i := slices.IndexFunc(ix.kept, func(c Change) bool { return c.ID == id })
	if i < 0 {
		return Change{}, false
	}
	return ix.kept[i], true
}

// look reads what was added to the index since the last look, or all of it where it
// was rewritten. The lock is held, so a line without an end is one that a crash cut:
// its Keep never returned, and it is cut off. After an error nothing is known.
func (s *Store) look() error {
	err := s.refresh()
	if err != nil {
		s.index = index{}
	}
	return err
}

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
	added, err := s.unread(f)
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

// unread is the end of the index that s.index does not know yet.
func (s *Store) unread(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	head := make([]byte, 256)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	head, _, _ = bytes.Cut(head[:n], []byte("\n"))
	if !bytes.Equal(head, s.index.head) || info.Size() < s.index.size {
		s.index = index{head: head}
		if err := syncDir(s.root, "."); err != nil { // who rewrote it may have died before that
			return nil, err
		}
	}
	return io.ReadAll(io.NewSectionReader(f, s.index.size, info.Size()-s.index.size))
}

// append adds lines to the index, durably and in one piece, or leaves it as it was.
// It does not read them.
func (s *Store) append(lines []byte, at int64) error {
	f, err := s.root.OpenFile(indexName, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(lines, at); err == nil {
		err = syncData(f)
	}
	if err != nil {
		return errors.Join(err, f.Truncate(at))
	}
	return nil
}

// rewrite replaces the index by one without dead lines. Damaged lines stay: the
// contents they told of are then known to be somebody's.
func (s *Store) rewrite() error {
	all, err := s.index.lines()
	if err != nil {
		return err
	}
	if err := s.replaceIndex(all); err != nil {
		return err
	}
	head, _, _ := bytes.Cut(all, []byte("\n"))
	s.index = index{head: bytes.Clone(head)}
	s.index.read(all)
	return nil
}

func (ix *index) lines() ([]byte, error) {
	all, err := encode(entry{Generation: newID()})
	if err != nil {
		return nil, err
	}
	for _, l := range ix.damaged {
		all = append(all, l...)
	}
	for _, c := range ix.kept {
		l, err := encode(entry{Kept: recordOf(c)})
		if err != nil {
			return nil, err
		}
		all = append(all, l...)
	}
	return all, nil
}

// replaceIndex needs no lock on its draft: drafts are swept under the store's lock.
func (s *Store) replaceIndex(all []byte) error {
	name := draftName()
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(all); err == nil {
		err = syncData(f)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = s.root.Rename(name, indexName)
	}
	if err != nil {
		return errors.Join(err, s.root.Remove(name))
	}
	return syncDir(s.root, ".")
}
