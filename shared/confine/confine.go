// Package confine turns the names that a client writes into files, and only into
// files under the allowed directories.
//
// The open is the check: no function says that a name is safe. [Roots.Parse] reads
// a name lexically, and [Path.Open] hands it to the kernel together with the
// descriptor of the allowed directory and the order to refuse every symbolic link
// and every step outside (openat2 on Linux, O_NOFOLLOW_ANY on macOS,
// OBJ_DONT_REPARSE on Windows). There is no moment between a check and a use in
// which a directory could be swapped for a link (CWE-367).
//
// A sandbox gets its directories as [Grant]s, which are open as well.
//
// What must stay true, and which tests keep it:
//
//   - an open never leaves the allowed directories, whatever is swapped meanwhile:
//     swap_linux_test.go, attack_*_test.go, FuzzParse;
//   - what is learned after a failure ([Path.Open] looks for a link, another normal
//     form, a near name) chooses another name to try and never permits anything: the
//     same tests, with both mechanisms;
//   - a denied name answers alike whether it exists or not: deny_unix_test.go; the sieve
//     in front of the rules only ever spares what no rule names: FuzzSieve;
//   - an open never waits, for a FIFO, a lease or a terminal: attack_unix_test.go;
//   - only package replace and the sandbox are lent a descriptor: shared/mcptest.
//
// The package refuses to write, to follow a link in the kernel, to open anything
// but regular files and directories, and to return a path for others to open.
package confine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Symlinks says what happens to a path that goes through a symbolic link.
type Symlinks int

const (
	// Reject refuses every link, wherever it leads.
	Reject Symlinks = iota
	// Within follows a link whose target is named under an allowed directory.
	// The target's text is parsed again, at most maxLinks times, and what comes out
	// is opened as strictly as under Reject.
	Within
)

// Options narrow what lies under the allowed directories. The zero value
// rejects links and denies nothing else.
type Options struct {
	Symlinks     Symlinks
	Deny         []string // globs, whatever their case; see newRules
	DenySecrets  bool     // also the table of secrets.go
	RelativeOnly bool     // absolute names, ~ and any .. are refused outright
	HidePaths    bool     // messages show no host path but the caller's own words
}

// Roots is a set of allowed directories. It may be used by many goroutines.
type Roots struct {
	list    []*root
	owned   []*handle // what Close closes; none in a narrowed Roots
	rules   rules
	opts    Options
	home    string // slash form; "" where the user has none
	by      mechanism
	buffers *sync.Pool // of *[]byte, for reading directories

	granting sync.Mutex
	granted  []*Grant // see Grants
}

// root is one allowed directory. All its names are in slash form.
type root struct {
	name   string  // as configured: absolute and clean
	real   string  // the same directory, reached without any link
	kept   *handle // the directory opened at start, or one above this
	base   string  // the real name of kept
	prefix string  // from kept to this directory; "." when kept is this
}

// Open opens each of dirs and keeps it open, so that a directory swapped later is
// not the one that is served. A directory may be named through a link: the person
// who configured it chose that, and both spellings work. One that is missing or
// not a directory is fault.Misconfigured.
func Open(dirs []string, o Options) (*Roots, error) {
	return open(dirs, o, kernelIfPossible)
}

func open(dirs []string, o Options, by mechanism) (*Roots, error) {
	if len(dirs) == 0 {
		return nil, fault.New(fault.Misconfigured, "no directory is allowed", "Allow at least one with --allow-path")
	}
	r := &Roots{opts: o, by: by, buffers: &sync.Pool{New: func() any {
		b := make([]byte, bufferSize)
		return &b
	}}}
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		r.home = cleanHost(home)
	}
	var err error
	if r.rules, err = newRules(o, r.home); err != nil {
		return nil, err
	}
	// All directories are resolved before the first is opened: a link inside one of them
	// must not decide where another begins.
	var guarded []string // links in these may be a command's work
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(r.absolute(dir)); err == nil {
			guarded = append(guarded, real)
		}
	}
	for _, dir := range dirs {
		one, err := r.openOne(dir, guarded)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.list = append(r.list, one)
		r.owned = append(r.owned, one.kept)
	}
	if r.by == kernelIfPossible {
		r.by = bestMechanism(r.owned[0].d)
	}
	return r, nil
}

// absolute is a directory as the operator wrote it, with a full path; "" where there is none.
func (r *Roots) absolute(dir string) string {
	abs, err := filepath.Abs(filepath.FromSlash(r.expandHome(filepath.ToSlash(dir))))
	if err != nil || dir == "" {
		return ""
	}
	return abs
}

func (r *Roots) openOne(dir string, guarded []string) (*root, error) {
	refuse := func(why string, err error) error {
		return fault.New(fault.Misconfigured, "the allowed directory "+shown(dir)+" "+why,
			"Correct --allow-path").With("path", dir).Because(err)
	}
	abs := r.absolute(dir)
	if abs == "" {
		return nil, refuse("has no name", nil)
	}
	real, err := withoutLinks(abs, guarded)
	if err != nil {
		return nil, refuse(whyUnresolved(err), err)
	}
	d, err := openRoot(real)
	if err != nil {
		return nil, refuse("is not a directory that can be opened", err)
	}
	name := cleanHost(real)
	return &root{name: cleanHost(abs), real: name, base: name, kept: &handle{d: d}, prefix: "."}, nil
}

// Close gives the directories back. A narrowed Roots has none of its own: its
// paths end when the Roots it came from is closed.
func (r *Roots) Close() error {
	var errs []error
	for _, h := range r.owned {
		errs = append(errs, h.close(release))
	}
	return errors.Join(errs...)
}

// Dirs is the allowed directories, absolute, as configured.
func (r *Roots) Dirs() []string {
	dirs := make([]string, 0, len(r.list))
	for _, one := range r.list {
		dirs = append(dirs, filepath.FromSlash(one.name))
	}
	return slices.Clip(dirs)
}

// find is the allowed directory that abs lies in, the innermost where they nest,
// and the way from there. It is lexical: what it finds is only ever a starting
// descriptor and a name for the kernel to judge.
func (r *Roots) find(abs string) (in *root, rel string, ok bool) {
	longest := -1
	// Both spellings count: where the operator allowed /tmp and that is a link, tools
	// name files in /private/tmp too. The innermost directory wins, because it may have
	// been swapped for a link in the outer one, where it would be refused.
	for _, one := range r.list {
		for _, name := range [2]string{one.name, one.real} {
			if way, below := beneath(name, abs); below && len(name) > longest {
				in, rel, ok, longest = one, way, true, len(name)
			}
		}
	}
	return in, rel, ok
}

// under is the way from dir to abs where abs is dir or lies in it, component by
// component: /allow_evil is not under /allow. Both are absolute and clean.
func beneath(dir, abs string) (rel string, ok bool) {
	if sameHostName(dir, abs) {
		return ".", true
	}
	dir = strings.TrimSuffix(dir, "/")
	if len(abs) <= len(dir)+1 || abs[len(dir)] != '/' || !sameHostName(dir, abs[:len(dir)]) {
		return "", false
	}
	return abs[len(dir)+1:], true
}

// cleanHost is an absolute host path in the form in which this package compares
// and joins them: clean, with slashes.
func cleanHost(abs string) string { return filepath.ToSlash(filepath.Clean(abs)) }

// handle is a directory kept open. Whoever uses it keeps it from being closed
// meanwhile, so that a descriptor number is never that of another file.
type handle struct {
	mu     sync.RWMutex
	d      descriptor
	closed bool
}

// hold is the descriptor, which stays open until let is called.
func (h *handle) hold() (descriptor, error) {
	h.mu.RLock()
	if h.closed {
		h.mu.RUnlock()
		return h.d, os.ErrClosed
	}
	return h.d, nil
}

// let must follow every hold: close waits for it.
func (h *handle) let() { h.mu.RUnlock() }

// use runs f with the descriptor, which stays open meanwhile also where f panics.
func use[T any](h *handle, f func(descriptor) (T, error)) (T, error) {
	d, err := h.hold()
	if err != nil {
		var none T
		return none, err
	}
	defer h.let()
	return f(d)
}

func (h *handle) close(release func(descriptor) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return os.ErrClosed
	}
	h.closed = true
	return release(h.d)
}

// mechanism is how a path is opened without following a link.
type mechanism int

const (
	kernelIfPossible mechanism = iota // decided when the first directory is open
	byKernel                          // one system call for the whole path
	byWalk                            // one per component, each relative to the one before
)
