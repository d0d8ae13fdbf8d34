package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Filter says which changes are wanted; the zero Filter wants all.
type Filter struct {
	Path  string    // exactly this one, as Keep was told
	Since time.Time // this moment or later
	Limit int       // at most so many; 0 is no limit
}

func (f Filter) wants(c Change) bool {
	return (f.Path == "" || f.Path == c.Path) && (f.Since.IsZero() || !c.Time.Before(f.Since))
}

// List is the changes that f wants, the one that was kept last first, whatever the
// clock said. A change whose content somebody removed is not listed.
func (s *Store) List(f Filter) ([]Change, error) {
	if f.Limit < 0 {
		return nil, fault.New(fault.ParamInvalid, "the limit is below zero", "Use 0 for no limit")
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

// Content is what was there before the change with this id; nothing, where the change
// says that no file existed. The content is verified while it is read: where it is
// damaged the last Read fails with fault.Unavailable in place of io.EOF, so nothing
// that was read may be used before io.EOF. An id that no change has is
// fault.NotFound, one that none could have fault.ParamMalformed.
func (s *Store) Content(id string) (io.ReadCloser, Change, error) {
	if !validID(id) {
		return nil, Change{}, fault.New(fault.ParamMalformed, "this is not the id of a change", "Use an id as it was listed: 26 small letters and digits")
	}
	var c Change
	var f *os.File
	err := s.locked(context.Background(), func() (err error) {
		var ok bool
		if c, ok = s.index.find(id); !ok {
			return unknown(id)
		}
		if c.Existed {
			f, err = s.root.Open(objectName(c.SHA256))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return damaged(c, "it was removed")
		}
		return err
	})
	if err != nil {
		return nil, Change{}, failed("read", err)
	}
	if !c.Existed {
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
