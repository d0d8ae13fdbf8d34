package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
	"github.com/multiollama/mcp-server/shared/settings"
)

// maxFile is far more than any host's configuration holds.
const maxFile = 64 << 20

// File is a configuration file as it was read.
type File struct {
	Text []byte
	real string      // behind symbolic links, which stay
	info fs.FileInfo // nil: there is no file
}

// There says that the file was there.
func (f File) There() bool { return f.info != nil }

// Read reads the file, which need not be there.
func Read(path string) (File, error) {
	f := File{real: path}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return File{}, fault.New(fault.Misconfigured, path+" is a symbolic link to nothing", "Remove it, or create what it names")
		}
		return f, nil
	}
	if err == nil {
		f.real = real
		f.Text, f.info, err = read(real)
	}
	if err != nil {
		return File{}, cannot("be read", path, err)
	}
	return f, nil
}

// cannot is err with the file, and what of it: "be read".
func cannot(do, path string, err error) error {
	e := fault.From(err)
	return fault.New(e.Code, path+" cannot "+do+": "+e.Msg, e.Do).Because(err)
}

func read(path string) ([]byte, fs.FileInfo, error) {
	return settings.ReadRegular(path, maxFile, "Name the configuration file of the host")
}

// Changed is the error of a file that is not what was read.
var Changed = fault.New(fault.Exists, "the file changed while it was worked on", "Try again")

// Write gives the file another text in one step, or leaves it as it is. It keeps
// the mode and the owner, and the old text under the name that it returns. A file
// that is not what was read any more is [Changed]. Between the last look and the
// step another program can still write: those who take the same lock cannot.
func (f File) Write(text []byte, now time.Time) (backup string, err error) {
	dir := filepath.Dir(f.real)
	if f.There() && f.info.Mode().Perm()&0o200 == 0 {
		return "", fault.New(fault.PermissionDenied, f.real+" is read-only", "Change it by hand, or where it is made from")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", cannot("be written", f.real, err)
	}
	unlock, err := lock(dir)
	if err != nil {
		return "", cannot("be written", f.real, err)
	}
	defer unlock()
	if !f.current() {
		return "", Changed
	}
	if f.There() {
		if backup, err = f.keep(now); err != nil {
			return "", cannot("be written", f.real, err)
		}
	}
	if err = f.swap(dir, text); err != nil {
		_ = os.Remove(backup) // the file is as it was
		if errors.Is(err, Changed) {
			return "", err
		}
		return "", cannot("be written", f.real, err)
	}
	return backup, nil
}

// current says that the file is still what was read.
func (f File) current() bool {
	text, _, err := read(f.real)
	if !f.There() {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && bytes.Equal(text, f.Text)
}

// keep writes what was read beside the file, under a name that is free.
func (f File) keep(now time.Time) (string, error) {
	stem := f.real + ".bak-" + now.UTC().Format("20060102T150405Z")
	name := stem
	for i := 2; ; i++ {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			name = fmt.Sprintf("%s-%d", stem, i)
			continue
		}
		if err != nil {
			return "", err
		}
		if err := f.fill(file, f.Text); err != nil {
			_ = os.Remove(name)
			return "", err
		}
		return name, nil
	}
}

// fill writes and closes a new file that is to be like f.
func (f File) fill(file *os.File, text []byte) error {
	_, err := file.Write(text)
	if f.There() {
		err = errors.Join(err, keepOwner(file, f.info), file.Chmod(f.info.Mode().Perm()))
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// swap puts a complete file under the name of f.
func (f File) swap(dir string, text []byte) error {
	file, err := os.CreateTemp(dir, "."+filepath.Base(f.real)+".*") // 0600 until it is filled
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := f.fill(file, text); err != nil {
		return err
	}
	if !f.current() {
		return Changed
	}
	if err := f.name(file.Name()); err != nil {
		return err
	}

	// The new name outlasts a crash, where the system can do that.
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // the file is complete under either name
		_ = d.Close()
	}
	return nil
}

// name gives a complete file the name of f. A new one gets it by a link, where the file
// system has these: that fails where another program was faster.
func (f File) name(complete string) error {
	if !f.There() {
		switch err := os.Link(complete, f.real); {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrExist):
			return Changed
		}
	}
	return os.Rename(complete, f.real)
}

// lock keeps other installers out of the directory, where the system locks
// directories: Windows and some network file systems do not.
func lock(dir string) (unlock func(), err error) {
	if runtime.GOOS == "windows" {
		return func() {}, nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = d.Close() }
	if ok, err := flock.Try(d, false); ok || err != nil {
		return unlock, nil
	}
	if err := flock.Wait(context.Background(), d, "the directory "+dir); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}
