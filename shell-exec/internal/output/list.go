package output

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/glob"
)

// What the limit of a list may be.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Filter says which outputs to list. A field that is empty accepts all.
type Filter struct {
	Type        Type   // All is the same as none
	ExecutionID string // exactly
	Name        string // a pattern if it has one of *?[{, and else a part of the name
	Limit       int    // at most so many; 0 is DefaultLimit
}

// Info is one stored output.
type Info struct {
	ID          string // for Read and Delete
	Run         string // the same for all outputs of a run
	Type        Type
	Name        string
	ExecutionID string
	Begun       time.Time
	Ended       time.Time // zero while State is not Ended
	State       State
	Bytes       int64
	Dropped     int64           // bytes that were written and not stored, as recorded at the end of the run
	Note        json.RawMessage // the newest of the run
}

// List is the outputs that f wants, of the run that began last first, and how many there are without the limit. Of a run
// it lists the streams that have something, and what they say together if both have, or if none of all has.
func (s *Store) List(f Filter) ([]Info, int, error) {
	if !slices.Contains(append(streams(), Combined, All, ""), f.Type) {
		return nil, 0, fault.New(fault.ParamInvalid, "there is no such type of output", "Use stdout, stderr, combined, log or all").
			With("output_type", string(f.Type))
	}
	if f.Limit < 0 || f.Limit > MaxLimit {
		return nil, 0, fault.New(fault.ParamInvalid, fmt.Sprintf("a limit of %d is out of range", f.Limit),
			fmt.Sprintf("Use 1 to %d", MaxLimit)).With("minimum", 1).With("maximum", MaxLimit)
	}
	match := func(name string) bool { return strings.Contains(name, f.Name) }
	if strings.ContainsAny(f.Name, `*?[{\`) {
		p, err := glob.Compile(f.Name)
		if err != nil {
			return nil, 0, err
		}
		match = func(name string) bool { return p.Match(strings.ReplaceAll(name, "/", "_")) }
	}
	all, err := s.runs(s.project)
	if err != nil {
		return nil, 0, failed("read", err)
	}
	var listed []Info
	for _, r := range all {
		infos, err := s.outputs(r.run)
		if err != nil && !errors.Is(err, fault.NotFound) { // that one went meanwhile
			return nil, 0, err
		}
		listed = append(listed, infos...)
	}
	listed = slices.DeleteFunc(listed, func(i Info) bool {
		return f.Type != "" && f.Type != All && f.Type != i.Type || f.ExecutionID != "" && f.ExecutionID != i.ExecutionID || !match(i.Name)
	})
	slices.SortStableFunc(listed, func(a, b Info) int { return b.Begun.Compare(a.Begun) })
	return listed[:min(cmp.Or(f.Limit, DefaultLimit), len(listed))], len(listed), nil
}

// outputs is what is listed of a run.
func (s *Store) outputs(run string) ([]Info, error) {
	r, err := s.about(run)
	if err != nil {
		return nil, err
	}
	state, err := s.state(run, r)
	if err != nil {
		return nil, err
	}
	base := Info{Run: id(run, Combined), ExecutionID: r.begun.ExecutionID, Begun: r.begun.Time, State: state, Note: r.note}
	if r.ended != nil {
		base.Ended = r.ended.Time
	}
	both := base.of(Combined, r, 0)
	var listed []Info
	for _, t := range streams() {
		size, there, err := s.size(run, t)
		if err != nil {
			return nil, err
		}
		i := base.of(t, r, size)
		if t != Log {
			both.Bytes += i.Bytes
			both.Dropped += i.Dropped
		}
		if there && i.Bytes+i.Dropped > 0 {
			listed = append(listed, i)
		}
	}
	if len(listed) != 1 {
		listed = slices.Insert(listed, 0, both)
	}
	return listed, nil
}

func (i Info) of(t Type, r record, size int64) Info {
	i.ID, i.Type, i.Bytes = id(i.Run, t), t, size
	i.Name = fileName(cmp.Or(strings.TrimSpace(r.begun.Name), r.begun.ExecutionID), string(t))
	if r.ended != nil {
		i.Dropped = r.ended.Dropped[t]
	}
	return i
}

func (s *Store) size(run string, t Type) (size int64, there bool, err error) {
	info, err := s.root.Lstat(fileName(run, string(t)))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, failed("read", err)
	}
	return info.Size(), true, nil
}

const maxIDs = 1000

// Deletion is what Delete did.
type Deletion struct {
	Deleted []string
	Failed  []Failure
}

// Failure is an output that was not deleted, and why.
type Failure struct {
	ID  string
	Err *fault.Error
}

// Delete removes outputs for good: of a run all, or one stream. Those that cannot be removed, as the output of a command
// that is still running, are reported, and the others are removed all the same. Without confirmed nothing is removed and the answer is
// fault.Forbidden.
func (s *Store) Delete(ctx context.Context, ids []string, confirmed bool) (Deletion, error) {
	switch {
	case len(ids) == 0:
		return Deletion{}, fault.New(fault.ParamMissing, "no output was named", "List the outputs, and give their ids")
	case len(ids) > maxIDs:
		return Deletion{}, fault.New(fault.ParamInvalid, "too many outputs were named", "Delete fewer at once").With("maximum", maxIDs)
	case !confirmed:
		return Deletion{}, fault.New(fault.Forbidden, "outputs are deleted for good, and this was not confirmed",
			"Call again with confirm set to true")
	}
	var d Deletion
	err := s.locked(ctx, func() error {
		for _, id := range ids {
			if slices.Contains(d.Deleted, id) {
				continue
			}
			if err := s.delete(id); err != nil {
				d.Failed = append(d.Failed, Failure{id, fault.From(err)})
				continue
			}
			d.Deleted = append(d.Deleted, id)
		}
		if s.full.Load() {
			return s.sweep()
		}
		return nil
	})
	return d, failed("deleted", err)
}

func (s *Store) delete(id string) error {
	run, t, err := s.parse(id)
	if err != nil {
		return err
	}
	r, err := s.about(run)
	if err != nil {
		return err
	}
	state, err := s.state(run, r)
	if err != nil {
		return err
	}
	if state == Running {
		return fault.New(fault.ParamInvalid, "the command that writes this output is still running", "End it first, or wait").
			With("output_id", id)
	}
	if t == Combined {
		return failed("deleted", s.remove(run))
	}
	err = s.root.Remove(fileName(run, string(t)))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown(id)
	}
	if err != nil {
		return failed("deleted", err)
	}
	for _, other := range streams() {
		if size, _, err := s.size(run, other); size > 0 || err != nil {
			return err
		}
	}
	return failed("deleted", s.remove(run)) // nothing of it is left
}
