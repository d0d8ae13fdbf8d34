package terminal

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// mark is how a session looked at some moment: what is new is known by it.
type mark struct {
	written   int64
	alternate bool
	rows      []string // of the screen
	first     int64    // number of the first of them; 0 on the alternate screen, which has none
	top       int64    // number of the first row of the primary screen
	cursor    screen.Cursor
}

// remember makes the present the moment of the last input.
func (s *session) remember() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.input = s.look(), s.now()
}

// bytesWritten is how many bytes were written so far.
func (s *session) bytesWritten() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// look is how the session looks now; s.mu is held.
func (s *session) look() mark {
	v := s.rows()
	m := mark{written: s.written, alternate: v.Alternate, rows: v.Lines, top: v.Top, cursor: v.Cursor}
	if !v.Alternate {
		m.first = v.Top
	}
	return m
}

// rows is the screen with the blanks before the cursor, which end a prompt; s.mu is held.
func (s *session) rows() screen.View {
	v := s.screen.View()
	if at := v.Cursor.Row; at < len(v.Lines) {
		if missing := v.Cursor.Column - screen.Width(v.Lines[at]); missing > 0 {
			v.Lines[at] += strings.Repeat(" ", missing)
		}
	}
	return v
}

// waiting is one wait.
type waiting struct {
	WaitFor
	session *session
	pattern *regexp.Regexp
	mark    mark
	next    int64 // lines below are searched, and do not change any more
}

// begin is the wait with its defaults, its pattern and its moment.
func (w WaitFor) begin(s *session) (*waiting, error) {
	if w.Deadline == 0 {
		w.Deadline = defaultDeadline
	}
	if w.Deadline < 0 || w.Deadline > maxDeadline || w.Quiet < 0 || w.Quiet > maxDeadline {
		return nil, fault.New(fault.ParamInvalid, "a time to wait is out of range",
			fmt.Sprintf("Use at most %v seconds", maxDeadline.Seconds())).
			With("parameter", "wait_for").With("maximum_seconds", maxDeadline.Seconds())
	}
	if w.Since < LastInput || w.Since > Start {
		return nil, fault.New(fault.ParamInvalid, "there is no such moment", "Use the last input, now or the start").With("parameter", "wait_for")
	}
	run := &waiting{WaitFor: w, session: s}
	if w.Pattern != "" {
		var err error
		if run.pattern, err = regexp.Compile(w.Pattern); err != nil {
			return nil, fault.New(fault.ParamInvalid, "the pattern is no regular expression: "+err.Error(), "Write it as RE2 has it").
				With("parameter", "wait_for").Because(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch w.Since {
	case LastInput:
		run.mark = s.before
	case Now:
		run.mark = s.look()
	}
	run.next = run.mark.top
	return run, nil
}

// breath is how long a flood of output is left alone between two looks at it.
const breath = 5 * time.Millisecond

// wait waits until one of the things happens.
func (w *waiting) wait(ctx context.Context) (Happened, string, error) {
	deadline := time.NewTimer(w.Deadline)
	defer deadline.Stop()
	quiet := time.NewTimer(maxDeadline)
	defer quiet.Stop()
	for {
		happened, match, changed, silence := w.look()
		if happened != "" {
			return happened, match, nil
		}
		if w.Quiet > 0 {
			quiet.Reset(w.Quiet - silence)
		}
		select {
		case <-changed:
		case <-quiet.C:
			continue
		case <-deadline.C:
			return Deadline, "", nil
		case <-ctx.Done():
			return "", "", ctx.Err()
		}
		rest(ctx, breath)
	}
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// look says what has happened, and what will tell of more.
func (w *waiting) look() (happened Happened, match string, changed <-chan struct{}, silence time.Duration) {
	s := w.session
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.output
	if s.input.After(last) {
		last = s.input
	}
	silence = s.now().Sub(last)
	if w.pattern != nil && !w.Exit {
		if l, ok := w.search(); ok {
			return Matched, l, nil, silence
		}
	}
	switch {
	case s.done:
		return HasExited, "", nil, silence
	case w.Quiet > 0 && !w.Exit && silence >= w.Quiet:
		return WentQuiet, "", nil, silence
	}
	return "", "", s.changed, silence
}

// search looks for the pattern in what is new; s.mu is held.
func (w *waiting) search() (string, bool) {
	s := w.session
	if w.Since != Start && s.written == w.mark.written {
		return "", false
	}
	v := s.rows()
	compares := v.Alternate == w.mark.alternate
	for !v.Alternate && w.next < v.Top {
		const step = 1000
		p := s.screen.Lines(w.next, int(min(step, v.Top-w.next)), false)
		if l, ok := w.among(p.Lines, p.Start, screen.Cursor{Row: -1}, compares); ok || len(p.Lines) == 0 {
			return l, ok
		}
		w.next = p.Start + int64(len(p.Lines))
	}
	first := v.Top
	if v.Alternate {
		first = 0
	}
	return w.among(v.Lines, first, v.Cursor, compares)
}

// among looks for the pattern in rows, the first of which has a number. compares says that the mark has seen such rows.
func (w *waiting) among(rows []string, first int64, cursor screen.Cursor, compares bool) (string, bool) {
	for i, row := range rows {
		from := 0
		if compares {
			from = w.seen(row, first+int64(i), i == cursor.Row)
		}
		for _, at := range w.pattern.FindAllStringIndex(row, -1) {
			if at[1] > from || from == 0 {
				return row, true
			}
		}
	}
	return "", false
}

// seen is how many bytes of a row stood there at the mark already. The row of the cursor, where it is another now, was
// written to: a screen that was cleared may show the same again.
func (w *waiting) seen(row string, number int64, here bool) int {
	at := number - w.mark.first
	if at < 0 || at >= int64(len(w.mark.rows)) {
		return 0
	}
	before := w.mark.rows[at]
	switch {
	case here && at != int64(w.mark.cursor.Row):
		return 0
	case row == before:
		return len(row) + 1
	case at == int64(w.mark.cursor.Row) && len(before) > 0 && len(row) > len(before) && row[:len(before)] == before:
		return len(before)
	}
	return 0
}
