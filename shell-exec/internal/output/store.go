// Package output keeps and shows what commands wrote: as a terminal would show it ([screen.Render]), within a budget
// (Capture), as the newest lines (Newest), and to the last byte, on disk (Store). A store is a directory of its own, which several
// processes may share:
//
//	lock                 locked while a run begins or goes
//	PROJECT/RUN.about    lines of JSON: that the run began, notes about it, that it ended; locked by who writes the outputs
//	PROJECT/RUN.stdout   what came, as it came; likewise RUN.stderr and RUN.log
//	PROJECT/RUN.order    where stdout and stderr took turns, if both said something
//
// A Store lists, reads and removes the runs of its own project only. The limits are for all projects together, so what is
// over them is removed from whatever project it is in.
//
// It refuses to open what a client names: an id is taken apart into random letters and one of a few words, and every file
// is opened through the store's directory. It refuses to let a command fail, wait or fill the disk because of its output:
// what is not kept is counted.
//
// Crashes: files only grow, and in the order in which they are read, so that a run can be read at whatever moment a
// process is killed; that it was cut off shows in that it has no end and nobody holds its lock. Nothing is synced: after
// the power went, outputs of the last seconds may be missing, and no others.
package output

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/flock"
)

const (
	defaultStream = 100 << 20
	defaultTotal  = 1 << 30
	defaultRuns   = 4096

	maxStep  = 16 << 20 // bytes that may be added before the total is looked at again
	runsStep = 8        // so is this part of the runs
)

// Limits bound a store. A field that is zero has its default.
type Limits struct {
	Stream int64 // bytes of each stream of a run; default 100 MiB
	Total  int64 // bytes of all; default 1 GiB. Each process that writes may exceed it by a sixteenth, at most 16 MiB
	Runs   int   // executions; default 4096, and likewise an eighth more
}

// Store is an open store; its methods may be called from several goroutines.
type Store struct {
	root    *os.Root
	project string // the directory in it of the runs of this store
	limits  Limits
	clock   func() time.Time

	maxTurns int

	mu   sync.Mutex
	lock *os.File // guarded by mu

	added atomic.Int64 // bytes since the last look at the total
	begun atomic.Int64 // runs, likewise
	full  atomic.Bool  // at the last look too much was there, and nothing could go
}

// Open opens the store of a project in dir, which is created, and its parents too, for this user alone (0700). Runs over the
// limits go, those of all projects counted, and leftovers of crashes are removed. Limits below zero are
// fault.Misconfigured. Where a platform has no file locks the answer is fault.Unavailable.
func Open(dir, project string, l Limits, clock func() time.Time) (*Store, error) {
	if l.Stream < 0 || l.Total < 0 || l.Runs < 0 {
		return nil, fault.New(fault.Misconfigured, "the limits of the stored outputs are below zero", "Give limits of zero or more")
	}
	if !validProject(project) {
		return nil, fault.New(fault.Internal, "the stored outputs have no project", "")
	}
	l = Limits{cmp.Or(l.Stream, defaultStream), cmp.Or(l.Total, defaultTotal), cmp.Or(l.Runs, defaultRuns)}
	s := &Store{project: project, limits: l, clock: clock, maxTurns: maxTurns}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, failed("opened", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed("opened", err)
	}
	s.root = root
	info, err := root.Stat(".")
	if err == nil && info.Mode().Perm()&0o077 != 0 { // somebody made it wider than this user alone
		err = root.Chmod(".", 0o700)
	}
	if err == nil {
		s.lock, err = root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		root.Close()
		return nil, failed("opened", err)
	}
	if err := s.locked(context.Background(), s.sweep); err != nil {
		s.Close()
		return nil, failed("opened", err)
	}
	return s, nil
}

// Close gives the store's files back. Runs must have ended before.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.lock.Close()
	if e := s.root.Close(); err == nil {
		err = e
	}
	return failed("closed", err)
}

// locked runs work while no run begins and none is removed, by this process or another.
func (s *Store) locked(ctx context.Context, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := lockFile(ctx, s.lock); err != nil {
		return err
	}
	defer flock.Unlock(s.lock)
	return work()
}

// Type is one of the outputs of a run.
type Type string

// The types of output. Combined is Stdout and Stderr in the order in which they came; All is for lists only.
const (
	Stdout   Type = "stdout"
	Stderr   Type = "stderr"
	Log      Type = "log"
	Combined Type = "combined"
	All      Type = "all"
)

// What a store consists of, besides one file for each stream of a run.
const (
	lockName  = "lock"
	aboutName = "about" // lines about the run; locked while it is written to
	orderName = "order" // where the streams took turns
)

// streams are the types that have a file, in their order in a run.
func streams() []Type { return []Type{Stdout, Stderr, Log} }

func fileName(run, part string) string { return run + "." + part }

// validProject says whether a word can be the directory of a project.
func validProject(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// validRun says whether id looks like one of Later's, without its project.
func validRun(id string) bool {
	return len(id) == 26 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// id is what a client calls an output: the run alone for what is combined, with the stream for that alone.
func id(run string, t Type) string {
	run = path.Base(run)
	if t == Combined {
		return run
	}
	return fileName(run, string(t))
}

// parse is the only way from a client's words to names of files. They lie in the store's project.
func (s *Store) parse(id string) (run string, t Type, err error) {
	run, stream, cut := strings.Cut(id, ".")
	t = Combined
	if cut {
		t = Type(stream)
	}
	if !validRun(run) || cut && t.index() < 0 {
		return "", "", unknown(id)
	}
	return path.Join(s.project, run), t, nil
}

// index is the place of t among streams, or -1.
func (t Type) index() int {
	for i, s := range streams() {
		if s == t {
			return i
		}
	}
	return -1
}

// lockFile locks f for this process, and for a child that inherits it. Whoever tests the lock holds it for a moment.
func lockFile(ctx context.Context, f *os.File) error {
	if runtime.GOOS == "windows" { // a child does not inherit locks there, so none says whether a run continues
		return fault.New(fault.Unavailable, "this platform has no file locks for a store of outputs", "")
	}
	return flock.Wait(ctx, f, "the stored outputs")
}

// failed is an error of the operating system about the store's own files. An error that has its code already stays.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	f := fault.FromOwn(err, "a file of them is missing or of the wrong kind")
	do := "Ask the person who runs this server to look at its state directory"
	if f.Code == fault.DiskFull {
		do = f.Do
	}
	return fault.New(f.Code, "the stored outputs cannot be "+what+", since "+f.Msg, do).Because(err)
}

func unknown(id string) error {
	return fault.New(fault.NotFound, "there is no stored output with this id, or no longer", "List the outputs to see what is there").
		With("output_id", id)
}
