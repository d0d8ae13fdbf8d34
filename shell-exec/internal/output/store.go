package output

import (
	"cmp"
	"context"
	"os"
	"path"
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

	mostStep = 16 << 20 // bytes that may be added before the total is looked at again
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

	mostTurns int

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
	s := &Store{project: project, limits: l, clock: clock, mostTurns: mostTurns}
	if err := s.open(dir); err != nil {
		return nil, failed("opened", err)
	}
	if err := s.locked(context.Background(), s.sweep); err != nil {
		s.Close()
		return nil, failed("opened", err)
	}
	return s, nil
}

func (s *Store) open(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	info, err := root.Stat(".")
	if err == nil && info.Mode().Perm()&0o077 != 0 { // somebody made it wider than this user alone
		err = root.Chmod(".", 0o700)
	}
	if err == nil {
		s.lock, err = root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		root.Close()
		return err
	}
	s.root = root
	return nil
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
	if err := hold(ctx, s.lock); err != nil {
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
