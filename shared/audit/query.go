package audit

import (
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Filter chooses events; what is zero chooses all.
type Filter struct {
	Tool    string
	Since   time.Time // not before
	Until   time.Time // before
	Denied  bool      // verdict deny or outcome refused
	Code    string
	Outcome string
	Session string
	Limit   int // the last so many of those chosen
}

func (f Filter) admits(e Event) bool {
	switch {
	case f.Tool != "" && e.Tool != f.Tool,
		f.Code != "" && e.Code != f.Code,
		f.Outcome != "" && e.Outcome != f.Outcome,
		f.Session != "" && e.Session != f.Session,
		f.Denied && e.Verdict != "deny" && e.Outcome != "refused",
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until):
		return false
	}
	return true
}

// Query yields the chosen events of all files in their order. A line that is no
// event is an error, after which it goes on; it does not look at the chain.
func Query(file string, f Filter) iter.Seq2[Event, error] {
	all := func(yield func(Event, error) bool) {
		for e, err := range events(file) {
			if (err != nil || f.admits(e)) && !yield(e, err) {
				return
			}
		}
	}
	if f.Limit <= 0 {
		return all
	}
	return func(yield func(Event, error) bool) { lastOf(all, f.Limit, yield) }
}

// lastOf yields errors at once and the last n events at the end.
func lastOf(all iter.Seq2[Event, error], n int, yield func(Event, error) bool) {
	var ring []Event
	count := 0
	for e, err := range all {
		switch {
		case err != nil:
			if !yield(Event{}, err) {
				return
			}
			continue
		case len(ring) < n:
			ring = append(ring, e)
		default:
			ring[count%n] = e
		}
		count++
	}
	for i := range ring {
		if !yield(ring[(count+i)%len(ring)], nil) {
			return
		}
	}
}

// events yields every event of a log as it stands now. A last line without newline is still
// being written, or was never finished.
func events(file string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		v, err := look(file)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer v.close()
		for p, err := range v.parts() {
			if errors.Is(err, errPruned) {
				continue
			}
			if err != nil {
				yield(Event{}, failed("cannot be read", err))
				return
			}
			number := 0
			for line, err := range lines(p.content) {
				if err != nil {
					yield(Event{}, failed("cannot be read", err))
					return
				}
				number++
				if line.whole && !yield(decode(line.text, p.path, number)) {
					return
				}
			}
		}
	}
}

func decode(line []byte, path string, number int) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, fault.New(fault.ParamMalformed, "a line of the audit log is no event", "Run audit verify").
			With("file", filepath.Base(path)).With("line", number).Because(err)
	}
	return e, nil
}
