package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

const (
	longestLine = 64 << 10 // bytes of a line of the index that tells a change
	large       = 1 << 20  // bytes of a content that others need not wait for
)

// ops are the kinds of changes.
func ops() []string { return []string{"overwrite", "edit", "append", "move", "delete", "restore"} }

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
	if !c.holds() {
		err := s.locked(ctx, func() error { return s.enter(&c) })
		return told(c, err)
	}
	d, err := s.newDraft(ctx)
	if err != nil {
		return Change{}, failed("added to", err)
	}
	defer d.discard()
	if c.SHA256, c.Bytes, err = d.fill(ctx, content, s.limits.Bytes); err != nil {
		return Change{}, failed("added to", err)
	}
	good := s.intact(ctx, c)
	err = s.locked(ctx, func() error {
		if err := s.place(d, c, good); err != nil {
			s.drop([]Change{c})
			return err
		}
		return s.enter(&c)
	})
	return told(c, err)
}

func told(c Change, err error) (Change, error) {
	if err != nil {
		return Change{}, failed("added to", err)
	}
	return c, nil
}

func acceptable(c Change, content io.Reader) error {
	switch {
	case c.Path == "":
		return fault.New(fault.ParamMissing, "a change without a path cannot be kept", "Name the path")
	case !slices.Contains(ops(), c.Op):
		return fault.New(fault.ParamInvalid, "a change of this kind cannot be kept", "Use one of "+strings.Join(ops(), ", ")).With("op", c.Op)
	case (c.Op == "move") != (c.To != ""):
		return fault.New(fault.ParamInvalid, "a move goes somewhere, and nothing else does", "Say where a move goes, and of no other change").With("op", c.Op)
	case !c.Existed && (c.Op == "move" || c.Tree):
		return fault.New(fault.ParamInvalid, "a move or a directory that did not exist cannot be kept", "Say that it existed").With("op", c.Op)
	case c.To != "" && content != nil:
		return fault.New(fault.ParamInvalid, "a move has no content to keep", "Pass none")
	case c.holds() && content == nil:
		return fault.New(fault.ParamMissing, "a change of a file cannot be kept without what was in it", "Pass the content")
	}
	return nil
}

// enter tells of c in the index, and of the changes that go for it. The lock is held
// and the object is in its place.
func (s *Store) enter(c *Change) error {
	if s.index.dead > s.slack && s.index.dead > len(s.index.kept) {
		if err := s.rewrite(); err != nil {
			return err
		}
	}
	c.Time = s.clock().UTC().Round(0)
	l, err := encode(entry{Kept: recordOf(*c)})
	if err == nil && len(l) > longestLine {
		err = fault.New(fault.ParamInvalid, "the path or the request id of the change is too long", "Use a shorter path").With("limit_bytes", longestLine)
	}
	if err == nil {
		err = s.commit(l, nil, c.Time)
	}
	if err != nil {
		s.drop([]Change{*c})
	}
	return err
}

// Forget takes a change from the list that was announced by Keep and did not happen,
// and its content if no other change has the same. Ids are as in Get. Who calls it
// because a context has ended needs another one here.
func (s *Store) Forget(ctx context.Context, id string) error {
	return failed("changed", s.locked(ctx, func() error {
		c, err := s.index.get(id)
		if err != nil {
			return err
		}
		l, err := encode(entry{Gone: []string{id}})
		if err != nil {
			return err
		}
		return s.commit(l, []Change{c}, s.clock())
	}))
}

// commit adds lines to the index, which let the changes in gone go, together with one
// about those that have to go then, and removes the contents of both after that is
// durable.
func (s *Store) commit(lines []byte, gone []Change, now time.Time) error {
	at := s.index.size
	s.index.read(lines)
	if surplus := s.index.surplus(s.limits, s.most, now); len(surplus) > 0 {
		gone = append(gone, surplus...)
		l, err := encode(entry{Gone: ids(surplus)})
		if err != nil {
			return err
		}
		s.index.read(l)
		lines = append(lines, l...)
	}
	if len(lines) == 0 {
		return nil
	}
	if err := s.append(lines, at); err != nil {
		s.index = index{} // what it knows was not written: the next look reads all
		return errors.Join(err, s.look())
	}
	s.drop(gone)
	return nil
}

func ids(changes []Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.ID)
	}
	return all
}

// surplus is what has to go, oldest first: what is too old, and what is too much. The
// change that is being kept is last and fits alone: its draft was no larger than
// l.Bytes, and its time is now.
func (ix *index) surplus(l Limits, most int, now time.Time) []Change {
	var gone []Change
	total, count, freed := ix.bytes, len(ix.kept), map[string]int{}
	for _, c := range ix.kept {
		if now.Sub(c.Time) <= l.Age && total <= l.Bytes && count <= most {
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

// draft is a content on its way in. Its file is locked by the process that writes it:
// one that nobody locks is a leftover.
type draft struct {
	root *os.Root
	name string
	file *os.File
}

// newDraft creates and locks a draft under the store's lock, so that no sweep comes
// between the two.
func (s *Store) newDraft(ctx context.Context) (*draft, error) {
	d := &draft{root: s.root, name: draftName()}
	return d, s.locked(ctx, func() error {
		f, err := s.root.OpenFile(d.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		d.file = f
		if _, err := flock.Try(f, false); err != nil {
			d.discard()
			return err
		}
		return nil
	})
}

// become gives the draft the name of an object, durable but for the directory. After
// an error the object may be there.
func (d *draft) become(name string) error {
	if err := d.root.Rename(d.name, name); err != nil {
		return err
	}
	f := d.file
	d.file = nil
	return errors.Join(syncData(f), f.Close())
}

// discard removes the draft, unless it was placed.
func (d *draft) discard() {
	if d.file == nil {
		return
	}
	d.file.Close()
	d.root.Remove(d.name) // a failure leaves a leftover for the next Open
	d.file = nil
}

// fill copies content and returns its SHA-256 and how many bytes it has. A large one
// is then on the disk; another is synced in its place, where it costs less.
func (d *draft) fill(ctx context.Context, content io.Reader, most int64) (string, int64, error) {
	h := sha256.New()
	from := &source{ctx: ctx, r: io.LimitReader(content, most+1)}
	if most+1 <= 0 {
		from.r = content
	}
	n, err := io.Copy(io.MultiWriter(d.file, h), from)
	if err != nil {
		return "", 0, err
	}
	if n > most {
		return "", 0, fault.New(fault.LimitReached, "the file holds more than the whole history may keep, "+strconv.FormatInt(most, 10)+" bytes",
			"Ask the person who runs this server for a larger limit, or to make this change").With("limit_bytes", most)
	}
	if n >= large {
		err = syncData(d.file)
	}
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// source reads until its context ends; its errors are the content's, not the store's.
type source struct {
	ctx context.Context
	r   io.Reader
}

func (s *source) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, fault.From(err)
	}
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		err = fault.From(err)
	}
	return n, err
}
