package audit

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

// view is a log as it stood at one moment: which files there were, how far the
// current one went, and what the head record said. Taking it holds the lock for
// as long as a directory listing takes, so no rotation falls in between.
type view struct {
	path    string
	old     []rotated
	current *os.File // nil where it is missing
	size    int64    // of current
	head    head
	sealed  bool // there is a head record
}

// look takes a view. It only reads, and works without the right to write.
func look(file string) (*view, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, failed("cannot be read", err)
	}
	v := &view{path: path}
	if err := v.take(); err != nil {
		v.close()
		return nil, failed("cannot be read", err)
	}
	return v, nil
}

func (v *view) take() (err error) {
	h, err := openShared(headPath(v.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		defer h.Close() //nolint:errcheck // only read from
		if err := lockWait(h, false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, flock.Unlock(h)) }()
		raw, err := readHead(h, make([]byte, headSize))
		if err != nil {
			return err
		}
		v.head, v.sealed = parseHead(raw)
	}

	if v.old, err = rotatedFiles(v.path); err != nil {
		return err
	}
	v.current, err = openShared(v.path)
	if errors.Is(err, fs.ErrNotExist) {
		v.current = nil
		if len(v.old) == 0 && !v.sealed {
			return fault.New(fault.NotFound, "there is no audit log of that name", "Look at --audit-log, or start the server once")
		}
		return nil
	}
	if err != nil {
		return err
	}
	info, err := v.current.Stat()
	if err != nil {
		return err
	}
	v.size = info.Size()
	return nil
}

func (v *view) close() {
	if v.current != nil {
		_ = v.current.Close() // only read from
	}
}

// part is one file of a log, to be read once.
type part struct {
	path    string
	number  int // 0 for the current one
	content io.Reader
}

// errPruned says that the view is out of date.
var errPruned = errors.New("a rotated file was pruned meanwhile")

// parts opens the files one after the other, oldest first.
func (v *view) parts() iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		for _, r := range v.old {
			if !yieldRotated(r, yield) {
				return
			}
		}
		if v.current != nil {
			yield(part{path: v.path, content: io.NewSectionReader(v.current, 0, v.size)}, nil)
		}
	}
}

func yieldRotated(r rotated, yield func(part, error) bool) bool {
	f, err := openShared(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errPruned
	}
	if err != nil {
		return yield(part{path: r.path, number: r.number}, err)
	}
	defer f.Close() //nolint:errcheck // only read from
	return yield(part{path: r.path, number: r.number, content: f}, nil)
}
