package audit

import (
	"errors"
	"time"
)

// Result is what Verify found.
type Result struct {
	Events int // that are whole
	Files  int
	First  time.Time // of the first event
	Last   time.Time // of the last one
	// From is the first event the log can vouch for: above 1, older ones were
	// pruned by Options.Keep, or, without a head record, are not there.
	From uint64
	// Head is the hash of the last event. Kept elsewhere, it proves later that
	// nothing up to it was rewritten.
	Head string
	// Unfinished is the size of a line that a crash cut short, in bytes. Its
	// event was never reported as stored; the next Record removes it.
	Unfinished int64
	Broken     []Break // in the order of the log
	Omitted    int     // breaks beyond the first 1000
}

// OK says that nothing is broken.
func (r Result) OK() bool { return len(r.Broken) == 0 }

// Break is one place where the log is not as it was written.
type Break struct {
	File string // base name; that of the missing file where one is missing
	Line int    // from 1; 0 where a whole file is meant
	Seq  uint64 // the event that is damaged or, of several, the first missing one
	Kind string // changed, removed, reordered, inserted, malformed or truncated
	Text string // one sentence without a final stop
}

// The kinds of breaks.
const (
	Changed   = "changed"   // the line does not have its hash
	Removed   = "removed"   // events are missing
	Reordered = "reordered" // the line stands too late
	Inserted  = "inserted"  // a line too many
	Malformed = "malformed" // no event at all
	Truncated = "truncated" // the line ends in the middle
)

const maxBroken = 1000

// Verify follows the chain over all files of a log. The error is for a log that
// cannot be read; one that was tampered with is a Result with breaks.
func Verify(file string) (Result, error) {
	for attempt := 0; ; attempt++ {
		result, err := verifyOnce(file)
		if err == nil || !errors.Is(err, errPruned) || attempt == 5 {
			return result, err
		}
	}
}

func verifyOnce(file string) (Result, error) {
	v, err := look(file)
	if err != nil {
		return Result{}, err
	}
	defer v.close()
	c := &checker{view: v}
	for p, err := range v.parts() {
		if err == nil {
			err = c.file(p)
		}
		if err != nil {
			return Result{}, failed("cannot be read", err)
		}
	}
	return c.end(), nil
}
