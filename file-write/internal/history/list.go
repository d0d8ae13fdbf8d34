package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Filter says which changes are wanted; the zero Filter wants all.
type Filter struct {
	Path    string    // exactly this one, as Keep was told
	Beneath []string  // one of these directories, absolute and clean, or in one; nil is anywhere, and none of them nowhere
	Since   time.Time // this moment or later, by the clock as it was then
	Limit   int       // at most so many; 0 is no limit

	Only func(Change) bool // those that it takes; nil takes all. It must not use the Store
}

func (f Filter) wants(c Change) bool {
	return (f.Path == "" || f.Path == c.Path) && (f.Since.IsZero() || !c.Time.Before(f.Since)) &&
		(f.Beneath == nil || slices.ContainsFunc(f.Beneath, func(dir string) bool { return beneath(dir, c.Path) })) &&
		(f.Only == nil || f.Only(c))
}

// beneath goes by whole components: /w-evil is not beneath /w.
func beneath(dir, path string) bool {
	const separator = string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, separator)+separator)
}

func (f Filter) acceptable() error {
	if f.Limit < 0 {
		return fault.New(fault.ParamInvalid, "the limit is below zero", "Use 0 for no limit")
	}
	for _, dir := range f.Beneath {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			return fault.New(fault.ParamInvalid, "a directory to look in is not absolute and clean", "Name it in full").With("path", dir)
		}
	}
	return nil
}

// List is the changes that f wants, the one that was kept last first, whatever the
// clock said. A change whose content somebody removed is not listed.
func (s *Store) List(f Filter) ([]Change, error) {
	if err := f.acceptable(); err != nil {
		return nil, err
	}
	var found []Change
	err := s.locked(context.Background(), func() error {
		for _, c := range slices.Backward(s.index.kept) {
			if f.wants(c) && s.present(c) {
				found = append(found, c)
			}
			if f.Limit > 0 && len(found) == f.Limit {
				break
			}
		}
		return nil
	})
	return found, failed("read", err)
}

// Get is the change with this id. An id that no change has is fault.NotFound, one that
// none could have fault.ParamMalformed.
func (s *Store) Get(id string) (Change, error) {
	var c Change
	err := s.locked(context.Background(), func() (err error) {
		c, err = s.index.get(id)
		return err
	})
	return c, failed("read", err)
}

func (ix *index) get(id string) (Change, error) {
	if !validID(id) {
		return Change{}, fault.New(fault.ParamMalformed, "this is not the id of a change", "Use an id as it was listed: 26 small letters and digits")
	}
	c, ok := ix.find(id)
	if !ok {
		return Change{}, unknown(id)
	}
	return c, nil
}

// Content is what was there before the change with this id; nothing, where the change
// says that no file existed. The content is verified while it is read: where it is
// damaged the last Read fails with fault.Unavailable in place of io.EOF, so nothing
// that was read may be used before io.EOF. Ids are as in Get; that of a move, which
// has no content, is fault.ParamInvalid.
func (s *Store) Content(id string) (io.ReadCloser, Change, error) {
	var c Change
	var f *os.File
	err := s.locked(context.Background(), func() (err error) {
		if c, err = s.index.get(id); err == nil {
			f, err = s.object(c)
		}
		return err
	})
	if err != nil {
		return nil, Change{}, failed("read", err)
	}
	if f == nil {
		return io.NopCloser(strings.NewReader("")), c, nil
	}
	return &verified{file: f, change: c, hash: sha256.New()}, c, nil
}

// verified reads an object and reaches io.EOF only if it is what was kept.
type verified struct {
	file   *os.File
	change Change
	hash   hash.Hash
	read   int64
}

func (v *verified) Read(b []byte) (int, error) {
	n, err := v.file.Read(b)
	v.hash.Write(b[:n])
	v.read += int64(n)
	switch {
	case v.read > v.change.Bytes:
		return 0, damaged(v.change, "it is longer than it was")
	case err == io.EOF && v.read < v.change.Bytes:
		return n, damaged(v.change, "it is shorter than it was")
	case err == io.EOF && hex.EncodeToString(v.hash.Sum(nil)) != v.change.SHA256:
		return n, damaged(v.change, "it is not what was kept")
	case err != nil && err != io.EOF:
		return n, failed("read", err)
	}
	return n, err
}

func (v *verified) Close() error { return failed("read", v.file.Close()) }
