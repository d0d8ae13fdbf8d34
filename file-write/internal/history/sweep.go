package history

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/multiollama/mcp-server/shared/flock"
)

// tidy lets go what is over the limits and removes what crashes left. The lock is
// held.
func (s *Store) tidy() error {
	now := s.clock()
	if err := s.commit(nil, nil, now); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	if err := s.sweepDrafts(); err != nil {
		return err
	}
	return s.sweepObjects(now)
}

// settle makes the index durable as it was read: who let a change go may have died
// before that was, and its content must not be swept before.
func (s *Store) settle() error {
	f, err := s.root.OpenFile(indexName, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncData(f)
}

func (s *Store) sweepDrafts() error {
	all, err := fs.ReadDir(s.root.FS(), drafts)
	for _, e := range all {
		if err == nil && validID(e.Name()) && e.Type().IsRegular() {
			err = s.sweepDraft(path.Join(drafts, e.Name()))
		}
	}
	return err
}

// sweepDraft removes a draft that no living process has locked. Its owner may be
// discarding it at the same time, which needs no lock.
func (s *Store) sweepDraft(name string) error {
	f, err := s.root.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dead, err := flock.Try(f, false)
	f.Close()
	if err != nil || !dead {
		return err
	}
	if err := s.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweepObjects removes the contents that no change has. What does not look like one
// of ours stays.
func (s *Store) sweepObjects(now time.Time) error {
	dirs, err := fs.ReadDir(s.root.FS(), objects)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if !d.IsDir() || len(d.Name()) != 2 {
			continue
		}
		if err := s.sweepDir(d.Name(), now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) sweepDir(name string, now time.Time) error {
	files, err := fs.ReadDir(s.root.FS(), path.Join(objects, name))
	if err != nil {
		return err
	}
	for _, f := range files {
		sum := name + f.Name()
		if !validSum(sum) || s.index.refs[sum] > 0 {
			continue
		}
		if err := s.sweepObject(sum, f, now); err != nil {
			return err
		}
	}
	return nil
}

// sweepObject removes a content without a change. While a line of the index is
// damaged it may have been that line's, and a person may want it: it stays for
// Limits.Age.
func (s *Store) sweepObject(sum string, f fs.DirEntry, now time.Time) error {
	info, err := f.Info()
	if err != nil {
		return err
	}
	if len(s.index.damaged) > 0 && now.Sub(info.ModTime()) <= s.limits.Age {
		return nil
	}
	return s.root.Remove(objectName(sum))
}
