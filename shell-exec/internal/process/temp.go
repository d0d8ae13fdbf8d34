package process

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

// TempDir is a temporary directory and its lease, a file in a register that is out of reach for whatever works in the
// directory. Its owner keeps the lease locked, which ends with the process.
type TempDir struct {
	Path  string
	lease *os.File
}

const leaseSuffix = ".lease"

// lease is what the file says. Without a number the directory was about to be made.
type lease struct {
	Path   string `json:"path"`
	Number string `json:"number,omitempty"` // of the directory, as its file system knows it
}

func (l lease) write(f *os.File) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0) // the second one is longer
	return err
}

// MakeTempDir makes a directory with a random name that begins with prefix, for this user alone, in the
// directory for temporary files.
func MakeTempDir(register, prefix string) (*TempDir, error) {
	if err := os.MkdirAll(register, 0o700); err != nil {
		return nil, err
	}
	name := rand.Text()
	d := &TempDir{Path: filepath.Join(os.TempDir(), prefix+strings.ToLower(name))}
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

func (d *TempDir) make(draft string) error {
	if free, err := flock.Try(d.lease, false); err != nil || !free {
		return errors.Join(err, fs.ErrExist)
	}
	if err := (lease{Path: d.Path}).write(d.lease); err != nil {
		return err
	}
	if err := os.Rename(draft, draft+leaseSuffix); err != nil { // now that it is locked
		return err
	}
	if err := os.Mkdir(d.Path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(d.Path)
	if err != nil {
		return err
	}
	return lease{d.Path, fileNumber(info)}.write(d.lease)
}

// Close removes the directory with all that is in it, and the lease.
func (d *TempDir) Close() error {
	err := removeAll(d.Path)
	if err == nil {
		err = os.Remove(d.lease.Name() + leaseSuffix)
	}
	return errors.Join(err, d.lease.Close())
}

// SweepTempDirs removes the directories whose owners are gone: those whose lease is free, if they are the very
// directories that the leases are about. What cannot be removed is tried by the next sweep.
func SweepTempDirs(register string) error {
	entries, err := os.ReadDir(register)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), leaseSuffix) {
			errs = append(errs, sweepTempDir(filepath.Join(register, e.Name())))
		}
	}
	return errors.Join(errs...)
}

func sweepTempDir(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if free, err := flock.Try(f, false); err != nil || !free {
		return err
	}
	var l lease
	if json.NewDecoder(f).Decode(&l) == nil {
		switch info, err := os.Lstat(l.Path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case l.Number == "":
			_ = os.Remove(l.Path) // just made, so it is empty; what is not stays
		case info.IsDir() && fileNumber(info) == l.Number:
			if err := removeAll(l.Path); err != nil {
				return err
			}
		}
	}
	return os.Remove(name)
}

// RemoveUnused removes the directories in dir that were last changed before a time.
func RemoveUnused(dir string, before time.Time) error {
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
	restoreRights(root, ".")
	return errors.Join(root.Close(), os.RemoveAll(dir))
}

// restoreRights gives the rights to remove what is in a directory back, all the way down.
func restoreRights(root *os.Root, dir string) {
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			path := filepath.Join(dir, e.Name())
			_ = root.Chmod(path, 0o700) // what goes wrong, RemoveAll reports
			restoreRights(root, path)
		}
	}
}
