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
)

// What a store consists of.
const (
	indexName = "index.jsonl"
	lockName  = "lock"
	objects   = "objects"
	drafts    = "drafts"
)

func draftName() string { return path.Join(drafts, newID()) }

func mkdir(root *os.Root, name string) error {
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
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

// place makes d the object of c, durably, unless an intact one is still there. The
// directories are synced in either case: who made them may have died before that.
func (s *Store) place(d *draft, c Change, intact bool) error {
	dir := objectDir(c.SHA256)
	if err := mkdir(s.root, dir); err != nil {
		return err
	}
	if !intact || !s.present(c) {
		if err := d.file.Close(); err != nil {
			return err
		}
		if err := s.root.Rename(d.name, objectName(c.SHA256)); err != nil {
			return err
		}
		d.file = nil
	}
	return errors.Join(syncDir(s.root, dir), syncDir(s.root, objects))
}

func (s *Store) present(c Change) bool {
	if !c.Existed {
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
		if c.Existed && s.index.refs[c.SHA256] == 0 {
			s.root.Remove(objectName(c.SHA256))
		}
	}
}
