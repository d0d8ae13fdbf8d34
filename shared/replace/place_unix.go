//go:build linux || darwin

package replace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
)

// maxTries is how often a change is begun anew because another program changed the
// file meanwhile. Then it is refused: a file that changes all the time is not ours.
const maxTries = 8

// state is what a Writer has where files can be changed.
type state struct {
	order order
	lacks lacks
	moved func(step) // tests change the world here; nil in a program
}

func (w *Writer) create(ctx context.Context, p confine.Path, content []byte, o Options) (Result, error) {
	return w.change(ctx, p, func(at *place) (Result, error) {
		at.mode = o.Mode
		return at.create(ctx, content)
	})
}

func (w *Writer) createFrom(ctx context.Context, p confine.Path, src io.Reader, o Options) (Result, error) {
	return w.change(ctx, p, func(at *place) (Result, error) {
		at.mode = o.Mode
		return at.createFrom(ctx, src)
	})
}

func (w *Writer) replace(ctx context.Context, p confine.Path, content []byte, o Options) (Result, error) {
	return w.change(ctx, p, func(at *place) (Result, error) {
		at.mode = o.Mode
		return at.replace(ctx, content)
	})
}

func (w *Writer) update(ctx context.Context, p confine.Path, change func([]byte, confine.Info) ([]byte, error)) (Result, error) {
	return w.change(ctx, p, func(at *place) (Result, error) { return at.update(ctx, change) })
}

// change opens the entry p and runs do on it, alone.
func (w *Writer) change(ctx context.Context, p confine.Path, do func(*place) (Result, error)) (res Result, err error) {
	err = w.open(p, func(at *place) error {
		key, err := at.key()
		if err != nil {
			return err
		}
		leave, err := w.order.enter(ctx, key)
		if err != nil {
			return err
		}
		defer leave()
		res, err = at.alone(ctx, do)
		return err
	})
	return res, err
}

// open opens the directory of p, asks about the entry and runs do on it.
func (w *Writer) open(p confine.Path, do func(*place) error) error {
	return w.openUnder(p, &w.rules, do)
}

// openUnder is open with other rules, for taking back what they allowed before.
func (w *Writer) openUnder(p confine.Path, rules *Rules, do func(*place) error) error {
	dir, name, err := p.OpenParent()
	if err != nil {
		return err
	}
	defer dir.Close() // nothing was written through it
	at := &place{path: p, real: dir.Path().Child(name), dir: dir, name: name, rules: rules, lacks: w.lacks, moved: w.moved}
	err = rules.entry(at.real)
	if err == nil {
		err = dir.LendDir(func(fd uintptr) error {
			at.at = int(fd)
			return do(at)
		})
	}
	return at.told(err)
}

// place is one entry of one open directory.
type place struct {
	path  confine.Path // for messages
	real  confine.Path // for rules: where the entry lies
	dir   *confine.Dir
	at    int // the directory's descriptor
	name  string
	mode  fs.FileMode // what the caller wants of a new file; 0 for no wish
	rules *Rules
	lacks lacks
	moved func(step)
}

// lacks is what a file system has been found not to offer.
type lacks struct {
	unnamed   bool // files without a name (O_TMPFILE)
	exclusive bool // renaming that never overwrites (RENAME_NOREPLACE)
	exchange  bool // two names changing places (RENAME_EXCHANGE)
}

// step is a moment at which a test may interfere.
type step int

const (
	beforeSwap step = iota // the new content is complete and the old still in place
	afterSwap              // the new content is in place and the old not yet judged
)

func (at *place) reached(s step) {
	if at.moved != nil {
		at.moved(s)
	}
}

// told is err as a caller may see it.
func (at *place) told(err error) error {
	if err == nil {
		return nil
	}
	e := fault.From(err)
	if _, ok := e.Details["path"]; ok {
		return e
	}
	return e.With("path", at.path.String())
}

func (r *Rules) entry(real confine.Path) error {
	if r.Entry == nil {
		return nil
	}
	return r.Entry(real)
}

func (r *Rules) content(real confine.Path, content []byte, mode uint32) error {
	if r.Content == nil {
		return nil
	}
	return r.Content(real, content, fs.FileMode(mode&0o777))
}

func taken(p confine.Path, cause error) error {
	return fault.New(fault.Exists, "there is already something under "+shown(p), "Choose another name, or ask to overwrite").
		With("path", p.String()).Because(cause)
}

func readOnly(p confine.Path) error {
	return fault.New(fault.PermissionDenied, shown(p)+" is read-only", "Leave it as it is, or ask the person it belongs to to make it writable").
		With("path", p.String())
}

// cannotKeep refuses a change that would take something from the file. That there is
// no room for it is another matter.
func cannotKeep(p confine.Path, what string, cause error) error {
	if errors.Is(fault.From(cause), fault.DiskFull) {
		return cause
	}
	return fault.New(fault.PermissionDenied, "the "+what+" of "+shown(p)+" cannot be kept when its content is replaced",
		"Leave it as it is, or ask the person it belongs to").With("path", p.String()).Because(cause)
}

// restless refuses a file that was another at every try.
func restless(p confine.Path) error {
	return fault.New(fault.Unavailable, shown(p)+" is being changed by another program all the time", "Try again later").With("path", p.String())
}

// changedAnyway is an error after which the new content is in place all the same.
func (at *place) changedAnyway(err error) error {
	return fault.From(err).With("path", at.path.String()).With("changed", true)
}

// result tells content that is in place.
func result(content []byte) Result {
	sum := sha256.Sum256(content)
	return Result{Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}
