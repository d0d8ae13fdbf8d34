package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

const (
	maxLine = 64 << 10 // bytes of a line of the index that describes a change
	large   = 1 << 20  // bytes of a content that others need not wait for
)

// ops are the kinds of changes.
var ops = []string{"overwrite", "edit", "append", "move", "delete", "restore"}

// Keep stores what content holds, and that c is about to happen. When it returns
// without an error both are on the disk. The change it returns has its ID, Time,
// SHA256 and Bytes. content is read only where c.Existed and c is no move, and before
// any lock is taken, so that a slow one hinders nobody.
//
// Older changes go when this one would exceed the limits, never this one; while it is
// being written the store may be larger than Limits.Bytes by its size. Content larger
// than Limits.Bytes is fault.LimitReached. An error of content is returned as it is
// by fault.From; a full disk is fault.DiskFull.
func (s *Store) Keep(ctx context.Context, c Change, content io.Reader) (Change, error) {
	if err := acceptable(c, content); err != nil {
		return Change{}, err
	}
	c.ID, c.SHA256, c.Bytes = newID(), "", 0

	var d *draft
	intact := false
	if c.holds() {
		var err error
		if d, err = s.newDraft(ctx); err != nil {
			return Change{}, failed("added to", err)
		}
		defer d.discard()
		if c.SHA256, c.Bytes, err = d.fill(ctx, content, s.limits.Bytes); err != nil {
			return Change{}, failed("added to", err)
		}
		intact = s.intact(ctx, c)
	}

	err := s.locked(ctx, func() (err error) {
		defer func() {
			if err != nil {
				s.drop(c)
			}
		}()
		if d != nil {
			if err := s.place(d, c, intact); err != nil {
				return err
			}
		}
		if s.index.dead > s.maxDead && s.index.dead > len(s.index.kept) {
			if err := s.rewrite(); err != nil {
				return err
			}
		}
		c.Time = s.clock().UTC().Round(0)
		line, err := encode(entry{Kept: recordOf(c)})
		if err != nil {
			return err
		}
		if len(line) > maxLine {
			return fault.New(fault.ParamInvalid, "the path or the request id of the change is too long", "Use a shorter path").
				With("limit_bytes", maxLine)
		}
		return s.commit(line, nil, c.Time)
	})
	if err != nil {
		return Change{}, failed("added to", err)
	}
	return c, nil
}

func acceptable(c Change, content io.Reader) error {
	switch {
	case c.Path == "":
		return fault.New(fault.ParamMissing, "a change without a path cannot be kept", "Name the path")
	case !slices.Contains(ops, c.Op):
		return fault.New(fault.ParamInvalid, "a change of this kind cannot be kept", "Use one of "+strings.Join(ops, ", ")).With("op", c.Op)
	case (c.Op == "move") != (c.To != ""):
		return fault.New(fault.ParamInvalid, "a move goes somewhere, and nothing else does",
			"Say where a move goes, and of no other change").With("op", c.Op)
	case !c.Existed && (c.Op == "move" || c.Tree):
		return fault.New(fault.ParamInvalid, "a move or a directory that did not exist cannot be kept", "Say that it existed").With("op", c.Op)
	case c.To != "" && content != nil:
		return fault.New(fault.ParamInvalid, "a move has no content to keep", "Pass none")
	case c.holds() && content == nil:
		return fault.New(fault.ParamMissing, "a change of a file cannot be kept without what was in it", "Pass the content")
	}
	return nil
}

// Forget removes a change that Keep announced and that did not happen, and its content
// if no other change has the same. Ids are as in Get. Where a context that has ended is
// the reason, the caller needs another one here.
func (s *Store) Forget(ctx context.Context, id string) error {
	return failed("changed", s.locked(ctx, func() error {
		c, err := s.index.get(id)
		if err != nil {
			return err
		}
		line, err := encode(entry{Gone: []string{id}})
		if err != nil {
			return err
		}
		return s.commit(line, []Change{c}, s.clock())
	}))
}

// commit adds lines to the index, which let the changes in gone go, together with one
// about those that have to go then, and removes the contents of both after that is
// durable. After an error the index is as it was.
func (s *Store) commit(lines []byte, gone []Change, now time.Time) error {
	at := s.index.size
	s.index.read(lines)
	if surplus := s.index.surplus(s.limits, s.maxChanges, now); len(surplus) > 0 {
		gone = append(gone, surplus...)
		var ids []string
		for _, c := range surplus {
			ids = append(ids, c.ID)
		}
		line, err := encode(entry{Gone: ids})
		if err != nil {
			return err
		}
		s.index.read(line)
		lines = append(lines, line...)
	}
	if len(lines) == 0 {
		return nil
	}

	f, err := s.root.OpenFile(indexName, os.O_RDWR, 0)
	if err == nil {
		defer f.Close()
		if _, err = f.WriteAt(lines, at); err == nil {
			err = syncData(f)
		}
		if err != nil {
			err = errors.Join(err, f.Truncate(at))
		}
	}
	if err != nil {
		s.index = index{} // what it knows was not written: all is read again
		if failed := s.refresh(); failed != nil {
			s.index = index{}
			err = errors.Join(err, failed)
		}
		return err
	}
	s.drop(gone...)
	return nil
}

// drop removes the contents of changes that have gone, where no other change has the
// same. A failure leaves a leftover for the next Open, which reports it. Without a known
// index nothing is removed: the content may be another change's too.
func (s *Store) drop(gone ...Change) {
	for _, c := range gone {
		if s.index.head != nil && c.holds() && s.index.refs[c.SHA256] == 0 {
			s.root.Remove(objectName(c.SHA256))
		}
	}
}

// draft is a content on its way in. Its file is locked by the process that writes it:
// one that nobody locks is a leftover.
type draft struct {
	root *os.Root
	name string
	file *os.File // nil once the draft has its place
}

func draftName() string { return path.Join(drafts, newID()) }

// newDraft creates and locks a draft under the store's lock, so that no sweep comes
// between the two.
func (s *Store) newDraft(ctx context.Context) (*draft, error) {
	d := &draft{root: s.root, name: draftName()}
	return d, s.locked(ctx, func() (err error) {
		if d.file, err = s.root.OpenFile(d.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		if _, err = flock.Try(d.file, false); err != nil {
			d.discard()
		}
		return err
	})
}

// discard removes the draft, unless it was placed. A failure leaves a leftover for the
// next Open.
func (d *draft) discard() {
	if d.file != nil {
		d.file.Close()
		d.root.Remove(d.name)
		d.file = nil
	}
}

// fill copies content and returns its SHA-256 and how many bytes it has. A large one
// is then on the disk; another is synced in its place, where it costs less.
func (d *draft) fill(ctx context.Context, content io.Reader, maxBytes int64) (string, int64, error) {
	h := sha256.New()
	if maxBytes+1 > 0 {
		content = io.LimitReader(content, maxBytes+1)
	}
	n, err := io.Copy(io.MultiWriter(d.file, h), patient(ctx, content))
	if err != nil {
		return "", 0, err
	}
	if n > maxBytes {
		limit := strconv.FormatInt(maxBytes, 10)
		return "", 0, fault.New(fault.LimitReached, "the file holds more than the whole history may keep, "+limit+" bytes",
			"Ask the person who runs this server for a larger limit, or to make this change").With("limit_bytes", maxBytes)
	}
	if n >= large {
		err = syncData(d.file)
	}
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// intact reports whether the content of c is here already, and undamaged.
func (s *Store) intact(ctx context.Context, c Change) bool {
	f, err := s.root.Open(objectName(c.SHA256))
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, patient(ctx, f))
	return err == nil && hex.EncodeToString(h.Sum(nil)) == c.SHA256
}

// place makes d the object of c, durably, unless an intact one is still there that a
// line names: that one is durable. One without a line may not be: whoever wrote it may
// have died before.
//
// The file is synced under its new name and first of all: a file system with a journal
// then writes all at once, and has nothing left to do for the directories. The name of
// a directory of contents is made durable once for each store, for the same reason.
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
	if err := s.root.Rename(d.name, objectName(c.SHA256)); err != nil {
		return err
	}
	f := d.file
	d.file = nil
	if err := errors.Join(syncData(f), f.Close()); err != nil {
		return err
	}
	err = syncDir(s.root, dir)
	if made || !s.placed[dir] {
		failed := syncDir(s.root, objects)
		s.placed[dir] = failed == nil
		err = errors.Join(err, failed)
	}
	return err
}
