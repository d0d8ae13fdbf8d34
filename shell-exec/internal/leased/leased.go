// Package leased makes temporary directories that go with the process that made them: what a killed
// one could not remove, a later one does.
//
// Each directory has a lease, a file in a register that is out of reach for whatever works in the
// directory. Its owner holds the lease locked, which ends with the process. Sweep removes a directory
// only when its lease is free and when it is the very directory that the lease is about: it refuses to
// follow links, and to remove what merely has the name.
package leased

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/flock"
)

// Dir is a directory and its lease.
type Dir struct {
	Path  string
	lease *os.File
}

const suffix = ".lease"

// record is what a lease says. Without a number the directory was about to be made.
type record struct {
	Path   string `json:"path"`
	Number string `json:"number,omitempty"` // of the directory, as its file system knows it
}

// Make makes a directory with a random name that begins with prefix, for this user alone, in the
// directory for temporary files.
func Make(register, prefix string) (*Dir, error) {
	if err := os.MkdirAll(register, 0o700); err != nil {
		return nil, err
	}
	name := rand.Text()
	d := &Dir{Path: filepath.Join(os.TempDir(), prefix+strings.ToLower(name))}
	draft := filepath.Join(register, name)
	var err error
	if d.lease, err = os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if err := d.make(draft); err != nil {
		return nil, errors.Join(err, d.Close(), os.Remove(draft))
	}
	return d, nil
}

func (d *Dir) make(draft string) error {
	if free, err := flock.Try(d.lease, false); err != nil || !free {
		return errors.Join(err, fs.ErrExist)
	}
	if err := d.write(record{Path: d.Path}); err != nil {
		return err
	}
	if err := os.Rename(draft, draft+suffix); err != nil { // now that it is locked
		return err
	}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(d.Path)
	if err != nil {
		return err
	}
	return d.write(record{d.Path, number(info)})
}

func (d *Dir) write(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = d.lease.WriteAt(text, 0) // the second record is the longer one
	return err
}

// Close removes the directory with all that is in it, and the lease.
func (d *Dir) Close() error {
	err := removeAll(d.Path)
	if err == nil {
		err = os.Remove(d.lease.Name() + suffix)
	}
	return errors.Join(err, d.lease.Close())
}

// Sweep removes the directories whose owners are gone. What cannot be removed is tried by the next.
func Sweep(register string) error {
	entries, err := os.ReadDir(register)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			errs = append(errs, sweep(filepath.Join(register, e.Name())))
		}
	}
	return errors.Join(append(errs, err)...)
}

func sweep(name string) error {
	lease, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer lease.Close()
	if free, err := flock.Try(lease, false); err != nil || !free {
		return err
	}
	var r record
	if err := json.NewDecoder(lease).Decode(&r); err == nil {
		if err := r.remove(); err != nil {
			return err
		}
	}
	return os.Remove(name)
}

// remove removes the directory that the record is about, if it is still there.
func (r record) remove() error {
	info, err := os.Lstat(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case r.Number == "":
		_ = os.Remove(r.Path) // just made, so it is empty; what is not stays
		return nil
	case !info.IsDir() || number(info) != r.Number:
		return nil
	}
	return removeAll(r.Path)
}

// Expire removes the directories in dir that were last touched before a time.
func Expire(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, e := os.Lstat(filepath.Join(dir, e.Name())); e == nil && info.IsDir() && info.ModTime().Before(before) {
			err = errors.Join(err, removeAll(filepath.Join(dir, info.Name())))
		}
	}
	return err
}

// removeAll removes a directory, also where commands took rights from a part of it.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if info, e := os.Lstat(dir); err == nil || e != nil || !info.IsDir() || os.Chmod(dir, 0o700) != nil {
		return err
	}
	root, e := os.OpenRoot(dir)
	if e != nil {
		return err
	}
	open(root, ".")
	return errors.Join(root.Close(), os.RemoveAll(dir))
}

// open gives the rights to remove what is in a directory back, all the way down.
func open(root *os.Root, dir string) {
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			path := filepath.Join(dir, e.Name())
			_ = root.Chmod(path, 0o700) // what goes wrong, RemoveAll tells
			open(root, path)
		}
	}
}
