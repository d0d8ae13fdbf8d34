package terminal

import (
	"context"
	"fmt"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// Query asks what a session shows.
type Query struct {
	ID         string
	Start      int64    // number of the first line; below zero: from the end
	Count      int      // of lines; 0 is 100
	ANSI       bool     // with colours
	Screen     bool     // the screen as it is now, in place of lines by number
	Foreground bool     // tell who has the keyboard
	Wait       *WaitFor // nil: at once
}

// WaitFor is what to wait for before answering: whichever comes first. The end of the program always is one of them.
type WaitFor struct {
	Pattern  string        // a regular expression (RE2), over lines that are new since the moment; ^ and $ are those of a line
	Since    Moment        // for Pattern
	Quiet    time.Duration // nothing was written or typed for so long
	Exit     bool          // nothing but the end
	Deadline time.Duration // 0 is 10 s; at most 5 minutes
}

// Moment is when lines begin to be new.
type Moment int

// The moments. What stood on the screen at that time is not new unless it is written again.
const (
	LastInput Moment = iota // just before the last input was sent, so that a prompt from before it is not taken for the next
	Now                     // the call
	Start                   // the start of the session: all that is there counts
)

// Happened is what a wait ended with.
type Happened string

// What can happen. A deadline is no error.
const (
	Matched   Happened = "matched"
	WentQuiet Happened = "quiet"
	HasExited Happened = "exited"
	Deadline  Happened = "deadline"
)

// Output is what a session shows.
type Output struct {
	Info
	Lines      []string
	Start      int64 // number of the first of Lines, with Screen the one of its first row in Total
	Total      int64 // lines so far
	Lost       int64 // lines that were asked for and are no longer kept
	More       bool  // lines follow
	Cursor     screen.Cursor
	Alternate  bool // a full-screen program shows its own screen, which has no numbers
	Title      string
	Foreground *Process // nil where it was not asked for, or nothing is there
	Happened   Happened // "" without Wait
	Match      string   // the line that matched
}

// Ranges of document 001 and ours.
const (
	defaultCount    = 100
	maxCount        = 10_000
	defaultDeadline = 10 * time.Second
	maxDeadline     = 5 * time.Minute
)

// Output answers what a session shows, after what it was asked to wait for. The end of ctx ends the wait, with its error.
func (s *Sessions) Output(ctx context.Context, q Query) (Output, error) {
	t, err := s.find(q.ID)
	if err != nil {
		return Output{}, err
	}
	if q.Count == 0 {
		q.Count = defaultCount
	}
	if q.Count < 0 || q.Count > maxCount {
		return Output{}, fault.New(fault.ParamInvalid, fmt.Sprintf("line_count is %d", q.Count), fmt.Sprintf("Use 1 to %d", maxCount)).
			With("parameter", "line_count")
	}
	var o Output
	if q.Wait != nil {
		w, err := q.Wait.begin(t)
		if err != nil {
			return Output{}, err
		}
		if o.Happened, o.Match, err = w.wait(ctx); err != nil {
			return Output{}, err
		}
	}
	if q.Foreground && !t.exited() {
		if p := t.foreground().process(); p.PID != 0 {
			o.Foreground = &p
		}
	}
	o.Info = t.info()

	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.screen.View()
	o.Cursor, o.Alternate, o.Title = v.Cursor, v.Alternate, v.Title
	if !q.Screen {
		p := t.screen.Lines(q.Start, q.Count, q.ANSI)
		o.Lines, o.Start, o.Total, o.Lost, o.More = p.Lines, p.Start, p.Total, p.Lost, p.More
		return o, nil
	}
	o.Lines = v.Lines
	if q.ANSI {
		o.Lines = t.screen.ANSI()
	}
	o.Start, o.Total = v.Top, t.screen.Lines(0, 0, false).Total
	return o, nil
}
