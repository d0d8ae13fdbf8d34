package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/command"
)

// recorded is a fixture in which something happened already: an ok, a denial and
// a write.
func recorded(t *testing.T) *fixture {
	w := newFixture(t)
	w.must(t, 0, "call", "greet", "name=Ada")
	w.must(t, 1, "call", "greet", "name=nobody")
	w.must(t, 0, "call", "keep", "file=x")
	return w
}

func TestQueriesChooseEvents(t *testing.T) {
	w := recorded(t)
	for _, c := range []struct {
		what string
		args []string
		want []string // tool and outcome of each event
	}{
		{"all", nil, []string{"greet ok", "greet error", "keep begin", "keep ok"}},
		{"of one tool", []string{"--tool", "keep"}, []string{"keep begin", "keep ok"}},
		{"denied ones", []string{"--denied"}, []string{"greet error"}},
		{"with a code", []string{"--code", "SECURITY_002"}, []string{"greet error"}},
		{"with an outcome", []string{"--outcome", "begin"}, []string{"keep begin"}},
		{"of the last hour", []string{"--since", "1h"}, []string{"greet ok", "greet error", "keep begin", "keep ok"}},
		{"of a time to come", []string{"--since", "2999-01-31"}, nil},
		{"of a time before", []string{"--until", "2001-01-31T12:00:00Z"}, nil},
		{"the last one", []string{"--limit", "1"}, []string{"keep ok"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			out := w.must(t, 0, append([]string{"audit", "query", "--json"}, c.args...)...).out
			var got []string
			for line := range strings.Lines(out) {
				var e audit.Event
				must(t, json.Unmarshal([]byte(line), &e))
				outcome := e.Outcome
				if outcome == "refused" {
					outcome = "error"
				}
				got = append(got, e.Tool+" "+outcome)
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	contains(t, "stderr", w.must(t, 2, "audit", "query", "--since", "yesterday").errors, "SYSTEM_003", "2026-01-31")
}

func TestTailPrintsTheLastEvents(t *testing.T) {
	w := recorded(t)
	out := w.must(t, 0, "audit", "tail", "-n", "2").out
	contains(t, "tail", out, "keep  allow  begin", "keep  allow  ok")
	if strings.Count(out, "\n") != 2 {
		t.Errorf("got %s", out)
	}
	w.must(t, 2, "audit", "tail", "-n", "0")
}

// until is a writer that calls back once a word was written to it.
type until struct {
	bytes.Buffer
	word string
	then func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if u.word != "" && strings.Contains(u.String(), u.word) {
		u.word = ""
		u.then()
	}
	return n, err
}

func TestTailFollowsUntilItIsStopped(t *testing.T) {
	w := recorded(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	log, err := audit.Open(w.auditFile(), audit.Options{})
	must(t, err)
	defer log.Close()
	second := &until{word: "later", then: stop}
	first := &until{word: "keep  allow  ok", then: func() {
		must(t, log.Record(audit.Event{Tool: "later", Verdict: "allow", Outcome: "ok"}))
	}}
	env := command.Environment{Stdout: io.MultiWriter(first, second), Stderr: io.Discard, Environ: w.environ}
	if code := command.Run(ctx, w.program, []string{"audit", "tail", "-f"}, env); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if !strings.Contains(second.String(), "later") {
		t.Errorf("the new event is missing:\n%s", second.String())
	}
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	w := recorded(t)
	contains(t, "verify", w.must(t, 0, "audit", "verify").out, "is whole: 4 events in 1 file", "head ")
	w.tamper(t, "Ada", "Eve")
	contains(t, "verify", w.must(t, 1, "audit", "verify").out, "changed", "fake-server.jsonl:1", "BROKEN")
	var result audit.Result
	must(t, json.Unmarshal([]byte(w.must(t, 1, "audit", "verify", "--json").out), &result))
	if len(result.Broken) != 1 || result.Broken[0].Kind != audit.Changed {
		t.Errorf("got %+v", result)
	}
}

func TestALineThatIsNoEventDoesNotHideTheOthers(t *testing.T) {
	w := recorded(t)
	w.tamper(t, `{"seq":2`, `"seq":2`)
	r := w.must(t, 1, "audit", "query")
	contains(t, "stdout", r.out, "greet  allow  ok", "keep  allow  ok")
	if r.errors == "" {
		t.Error("nobody tells of the line")
	}
}

func TestStatsCount(t *testing.T) {
	w := recorded(t)
	contains(t, "stats", w.must(t, 0, "audit", "stats").out, "TOOL", "greet", "keep", "(all)", "deny 1", "SECURITY_002 1")
	var stats audit.Stats
	must(t, json.Unmarshal([]byte(w.must(t, 0, "audit", "stats", "--tool", "greet", "--json").out), &stats))
	if stats.Total.Calls != 2 {
		t.Errorf("got %+v", stats)
	}
}

func TestALogThatIsNoFileCannotBeRead(t *testing.T) {
	w := newFixture(t)
	for _, word := range []string{"off", "stderr"} {
		contains(t, "stderr", w.must(t, 2, "audit", "verify", "--audit-log", word).errors, "no file", "flag --audit-log")
	}
	contains(t, "stderr", w.must(t, 1, "audit", "verify").errors, "RESOURCE_003")
	contains(t, "help", w.must(t, 0, "audit").out, "tail", "verify", "stats", "query")
}

func TestAnEventCannotForgeALine(t *testing.T) {
	w := newFixture(t)
	log, err := audit.Open(w.auditFile(), audit.Options{})
	must(t, err)
	must(t, log.Record(audit.Event{Tool: "keep", Verdict: "deny", Outcome: "refused", Paths: []string{"/x\n2026  keep  allow\x1b[2J\u202e"}}))
	must(t, log.Close())
	out := w.must(t, 0, "audit", "query").out
	contains(t, "the line", out, `\n`, `\x1b`, `\u202e`)
	if strings.Count(out, "\n") != 1 || strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("got %q", out)
	}
}

func TestAnAuditLogOnStderrCarriesEvents(t *testing.T) {
	r := newFixture(t).must(t, 0, "call", "greet", "name=Ada", "--audit-log", "stderr")
	contains(t, "stderr", r.errors, `"tool":"greet"`, `"hash":`)
}
