package audit_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multiollama/mcp-server/shared/audit"
)

// calls is a log of six events, an hour apart, over several files.
func calls(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.jsonl")
	now := fixedClock()
	l := open(t, file, audit.Options{MaxBytes: 700, Clock: func() time.Time { now = now.Add(time.Hour); return now }})
	for _, e := range []audit.Event{
		{RequestID: "1", Tool: "read", Session: "a", Verdict: "allow", Outcome: "ok", DurationMS: 1, Bytes: 10},
		{RequestID: "2", Tool: "read", Session: "b", Verdict: "deny", Outcome: "refused", Code: "SECURITY_002", DurationMS: 3},
		{RequestID: "3", Tool: "write", Session: "a", Verdict: "allow", Outcome: "begin"},
		{RequestID: "4", Tool: "write", Session: "a", Verdict: "allow", Outcome: "error", Code: "EXECUTION_004", DurationMS: 7},
		{RequestID: "5", Tool: "read", Session: "a", Verdict: "allow", Outcome: "ok", DurationMS: 2, Bytes: 5},
		{RequestID: "6", Tool: "read", Session: "b", Verdict: "allow", Outcome: "refused", Code: "RESOURCE_005"},
	} {
		record(t, l, e)
	}
	if whole(t, file, 6).Files < 2 {
		t.Fatal("the log has one file only")
	}
	return file
}

func ids(events []audit.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.RequestID)
	}
	return strings.Join(all, " ")
}

func TestQueryChooses(t *testing.T) {
	file := calls(t)
	hour := func(h int) time.Time { return fixedClock().Add(time.Duration(h) * time.Hour) }
	for _, c := range []struct {
		name   string
		filter audit.Filter
		want   string
	}{
		{"all, in their order", audit.Filter{}, "1 2 3 4 5 6"},
		{"by tool", audit.Filter{Tool: "write"}, "3 4"},
		{"by session", audit.Filter{Session: "b"}, "2 6"},
		{"by outcome", audit.Filter{Outcome: "ok"}, "1 5"},
		{"by code", audit.Filter{Code: "EXECUTION_004"}, "4"},
		{"what was denied or refused", audit.Filter{Denied: true}, "2 6"},
		{"since, inclusive", audit.Filter{Since: hour(5)}, "5 6"},
		{"until, exclusive", audit.Filter{Until: hour(3)}, "1 2"},
		{"the last two", audit.Filter{Limit: 2}, "5 6"},
		{"the last two of a tool", audit.Filter{Tool: "read", Limit: 2}, "5 6"},
		{"a limit above what there is", audit.Filter{Limit: 99}, "1 2 3 4 5 6"},
		{"several at once", audit.Filter{Tool: "read", Session: "a", Outcome: "ok", Since: hour(2)}, "5"},
		{"nothing", audit.Filter{Tool: "none"}, ""},
	} {
		if got := ids(query(t, file, c.filter)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestQueryMayBeLeftAtAnyEvent(t *testing.T) {
	file := calls(t)
	for _, limit := range []int{0, 4} {
		for e, err := range audit.Query(file, audit.Filter{Limit: limit}) {
			if err != nil || e.Seq == 0 {
				t.Error(e, err)
			}
			break
		}
	}
}

func TestQueryTellsOfALineThatIsNoEventAndGoesOn(t *testing.T) {
	w := newFixture(t)
	l := w.lines(current)
	w.write(current, l[0], []byte("nonsense\n"), l[2], l[3], l[4])
	for _, limit := range []int{0, 100} {
		events, failures := 0, 0
		for _, err := range audit.Query(w.log, audit.Filter{Limit: limit}) {
			if err != nil {
				failures++
			} else {
				events++
			}
		}
		if events != 34 || failures != 1 {
			t.Errorf("%d events, %d failures", events, failures)
		}
	}
	s, err := audit.Summarize(w.log, audit.Filter{})
	if err != nil || s.Unreadable != 1 || s.Events != 34 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestSummarizeCounts(t *testing.T) {
	got, err := audit.Summarize(calls(t), audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	want := audit.Stats{
		Events: 6, First: fixedClock().Add(time.Hour), Last: fixedClock().Add(6 * time.Hour),
		Outcomes: map[string]int{"ok": 2, "refused": 2, "begin": 1, "error": 1},
		Verdicts: map[string]int{"allow": 4, "deny": 1},
		Codes:    map[string]int{"SECURITY_002": 1, "EXECUTION_004": 1, "RESOURCE_005": 1},
		Total:    audit.Usage{Calls: 5, Errors: 1, Refused: 2, P50MS: 2, P95MS: 7, MaxMS: 7, Bytes: 15},
		Tools: []audit.Usage{
			{Tool: "read", Calls: 4, Refused: 2, P50MS: 1, P95MS: 3, MaxMS: 3, Bytes: 15},
			{Tool: "write", Calls: 1, Errors: 1, P50MS: 7, P95MS: 7, MaxMS: 7},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(audit.Usage{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestFollowGivesTheLastEventsAndThenEachNewOneThroughRotations(t *testing.T) {
	for _, n := range []int{0, 3, 12, 1000} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(t)
			start := max(1, worldEnd-n+1)
			next, recorded := start, worldEnd
			if n == 0 {
				time.AfterFunc(time.Second, func() { w.record(25) })
				recorded += 25
			}
			for e, err := range audit.Follow(t.Context(), w.log, n) {
				if err != nil || e.Seq != uint64(next) {
					t.Fatalf("event %d, want %d: %v", e.Seq, next, err)
				}
				next++
				if next > recorded {
					if next > 100 {
						return
					}
					w.record(25)
					recorded += 25
				}
			}
		})
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got := 0
		for range audit.Follow(ctx, newFixture(t).log, 5) {
			got++
		}
		if got != 5 || ctx.Err() == nil {
			t.Errorf("%d events, context: %v", got, ctx.Err())
		}
	})
}

func TestFollowWaitsForTheEndOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		all := w.read(current)
		w.write(current, all[:len(all)-100])
		time.AfterFunc(time.Minute, func() { w.write(current, all) })
		var got []uint64
		for e, err := range audit.Follow(t.Context(), w.log, 2) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Seq); e.Seq == worldEnd {
				break
			}
		}
		if !slices.Equal(got, []uint64{33, 34, 35}) {
			t.Errorf("%v", got)
		}
	})
}

func TestFollowOfALogThatIsNotThereIsAnError(t *testing.T) {
	for _, err := range audit.Follow(t.Context(), filepath.Join(t.TempDir(), "x.jsonl"), 1) {
		if err == nil {
			t.Error("an event of a log that is not there")
		}
	}
}

func TestALineForAPersonCannotBeForged(t *testing.T) {
	at := fixedClock()
	local := at.Local().Format("2006-01-02 15:04:05.000")
	for _, c := range []struct {
		name  string
		event audit.Event
		want  string
	}{
		{"a call that went well", audit.Event{Time: at, Tool: "file_read", Verdict: "allow", Outcome: "ok", Paths: []string{"/a b"}, DurationMS: 1.239},
			"  allow/ok       file_read                 /a b  1.24ms"},
		{"several paths and a code", audit.Event{Time: at, Tool: "t", Verdict: "deny", Outcome: "refused", Code: "SECURITY_002", Paths: []string{"/a", "/b", "/c"}},
			"  deny/refused   t                         /a (+2)  SECURITY_002  0s"},
		{"a begin has no duration", audit.Event{Time: at, Tool: "t", Verdict: "allow", Outcome: "begin"},
			"  allow/begin    t                         -"},
		{"newline, colour, direction, separator, bad UTF-8", audit.Event{Time: at, Tool: "t\n", Verdict: "allow", Outcome: "begin", Paths: []string{"/a\n\x1b[31m\u202egpj.exe\u2028\xff語"}},
			`  allow/begin    t\n                       /a\n\x1b[31m\u202egpj.exe\u2028\xff語`},
	} {
		if got := c.event.Line(); got != local+c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, local+c.want)
		}
	}
}
