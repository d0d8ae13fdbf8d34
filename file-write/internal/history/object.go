package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/multiollama/mcp-server/shared/fault"
)

// What a store consists of.
const (
	indexName = "index.jsonl"
	lockName  = "lock"
	objects   = "objects"
	drafts    = "drafts"
)

func draftName() string { return path.Join(drafts, newID()) }

func mkdir(root *os.Root, name string) (made bool, err error) {
	err = root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// objectDir and objectName want the hex of a SHA-256; index lines with anything else
// are damaged ones.
func objectDir(sum string) string  { return path.Join(objects, sum[:2]) }
func objectName(sum string) string { return path.Join(objectDir(sum), sum[2:]) }

// intact says whether the content of c is here already, and undamaged.
func (s *Store) intact(ctx context.Context, c Change) bool {
	f, err := s.root.Open(objectName(c.SHA256))
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, &source{ctx: ctx, r: f})
	return err == nil && hex.EncodeToString(h.Sum(nil)) == c.SHA256
}

// place makes d the object of c, durably, unless an intact one is still there that a
// line tells of: that one is durable. One without a line is what somebody left who
// died before it was.
//
// The file is synced under its new name and first of all: a file system with a journal
// then writes all at once, and has nothing left to do for the directories.
func (s *Store) place(d *draft, c Change, intact bool) error {
	if s.index.refs[c.SHA256] > 0 {
		if intact && s.present(c) {
			return nil
		}
		if err := syncData(d.file); err != nil { // what it replaces may be good, and only have been unreadable
			return err
		}
	}
	dir := objectDir(c.SHA256)
	made, err := mkdir(s.root, dir)
	if err != nil {
		return err
	}
	if err := d.become(objectName(c.SHA256)); err != nil {
		return err
	}
	return errors.Join(syncDir(s.root, dir), s.syncObjects(dir, made))
}

// syncObjects makes the name of a directory of contents durable, once for each store:
// who made it may have died before that.
func (s *Store) syncObjects(dir string, made bool) error {
	if s.placed[dir] && !made {
		return nil
	}
	err := syncDir(s.root, objects)
	s.placed[dir] = err == nil
	return err
}

// object opens the content of c, nil where nothing was.
func (s *Store) object(c Change) (*os.File, error) {
	if c.To != "" {
		return nil, fault.New(fault.ParamInvalid, "a move has no content: nothing was lost by it", "It is undone by moving back").
			With("id", c.ID).With("path", c.Path).With("to", c.To)
	}
	if !c.holds() {
		return nil, nil
	}
	f, err := s.root.Open(objectName(c.SHA256))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(c, "it was removed")
	}
	return f, err
}

func (s *Store) present(c Change) bool {
	if !c.holds() {
		return true
	}
	info, err := s.root.Lstat(objectName(c.SHA256))
	return err == nil && info.Mode().IsRegular()
}

// drop removes the contents of changes that have gone, where no other change has the
// same. A failure leaves a leftover for the next Open, which tells it. Without a known
// index nothing is removed: the content may be another change's too.
func (s *Store) drop(gone []Change) {
	if s.index.head == nil {
		return
	}
	for _, c := range gone {
		if c.holds() && s.index.refs[c.SHA256] == 0 {
			s.root.Remove(objectName(c.SHA256))
		}
	}
}
