package toolkit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
)

func TestASuccessIsTextAndStructureAndOneEvent(t *testing.T) {
	w := newFixture(t, nil)
	r := read(t, w.Call(WithRequestID(t.Context(), "r1"), "say", json.RawMessage(`{"word":"ha"}`)))
	if r.IsError || len(r.Content) != 1 || r.Content[0].Text != "I say haha" || string(r.StructuredContent) != `{"said":"haha","parts":[]}` {
		t.Errorf("%+v", r)
	}
	events := w.log.all()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if e.Server != "file-test" || e.Version != "1.2.3" || e.PID == 0 || e.Tool != "say" || e.RequestID != "r1" ||
		e.Verdict != "allow" || e.Outcome != "ok" || e.Code != "" || e.Bytes != 4 || string(e.Arguments) != `{"word":"ha"}` {
		t.Errorf("%+v", e)
	}
}

func TestAFailureHasTheEnvelopeInEveryShape(t *testing.T) {
	at := time.Date(2026, 7, 28, 12, 0, 0, 5, time.UTC)
	w := newFixture(t, func(c *Config) { c.Clock = func() time.Time { return at }; c.Vocabulary.FailurePrefix = "Error: " })
	r := read(t, w.Call(WithRequestID(t.Context(), "r7"), "say", json.RawMessage(`{"word":""}`)))
	want := `{"error":{"code":"PARAM_002","message":"there is nothing to say. Send a word.","category":"PARAM","details":{},"timestamp":"2026-07-28T12:00:00.000000005Z","request_id":"r7"}}`
	if !r.IsError || string(r.StructuredContent) != want {
		t.Errorf("%s", r.StructuredContent)
	}
	if len(r.Content) != 1 || r.Content[0].Text != "Error: PARAM_002: there is nothing to say. Send a word." {
		t.Errorf("%+v", r.Content)
	}
	if e := w.log.all()[0]; e.Outcome != "error" || e.Code != "PARAM_002" || e.Verdict != "allow" {
		t.Errorf("%+v", e)
	}
}

func TestACallWithoutANameGetsARandomOne(t *testing.T) {
	w := newFixture(t, nil)
	a := read(t, w.Call(t.Context(), "say", nil)).failure(t)
	b := read(t, w.Call(t.Context(), "say", nil)).failure(t)
	if a.RequestID == "" || a.RequestID == b.RequestID || w.log.all()[0].RequestID != a.RequestID {
		t.Errorf("%q %q", a.RequestID, b.RequestID)
	}
}

func TestWhatAToolDoesWrongIsAuditedAndNotTold(t *testing.T) {
	for _, c := range []struct {
		how     string
		code    fault.Code
		outcome string
		verdict string
		cause   string
	}{
		{"panic", fault.Internal, "error", "allow", "hunter2"},
		{"index", fault.Internal, "error", "allow", "index out of range"},
		{"in Text", fault.Internal, "error", "allow", "text of /etc/shadow"},
		{"raw error", fault.Internal, "error", "allow", "open /home/someone/secret: odd"},
		{"forbidden", fault.Forbidden, "refused", "deny", "the deep cause"},
		{"cancelled", fault.TimedOut, "error", "allow", "context canceled"},
		{"odd details", fault.NotFound, "error", "allow", ""},
	} {
		w := newFixture(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		result := w.Call(ctx, "misbehave", json.RawMessage(fmt.Sprintf(`{"how":%q}`, c.how)))
		r := read(t, result)
		if got := r.failure(t); got.Code != c.code || got.Details == nil {
			t.Errorf("%s: %+v", c.how, got)
		}
		all, _ := json.Marshal(result)
		for _, leak := range []string{"hunter2", "out of range", "shadow", "someone", "goroutine", ".go:", "deep cause"} {
			if strings.Contains(string(all), leak) {
				t.Errorf("%s: the client was told %q: %s", c.how, leak, all)
			}
		}
		events := w.log.all()
		if len(events) != 2 || events[0].Outcome != "begin" {
			t.Fatalf("%s: %+v", c.how, events)
		}
		if e := events[1]; e.Outcome != c.outcome || e.Verdict != c.verdict || e.Code != string(c.code) || !strings.Contains(e.Cause, c.cause) {
			t.Errorf("%s: %+v", c.how, e)
		}
	}
}

func TestAPanicOfAReadIsExactlyOneEventWithItsStack(t *testing.T) {
	w := newFixture(t, func(c *Config) {
		c.Vocabulary.Tools = []Tool{New(Spec{Name: "boom", Doc: "Break.", Effect: Reads}, misbehave)}
	})
	r := read(t, w.Call(t.Context(), "boom", json.RawMessage(`{"how":"panic"}`)))
	if r.failure(t).Code != fault.Internal {
		t.Errorf("%s", r.StructuredContent)
	}
	events := w.log.all()
	if len(events) != 1 || !strings.Contains(events[0].Cause, "toolkit.misbehave") || !strings.Contains(events[0].Cause, "fixture_test.go") {
		t.Errorf("%+v", events)
	}
}

func TestDiagnosticsNameAFaultWithoutItsCause(t *testing.T) {
	var out strings.Builder
	w := newFixture(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
	w.log.fail = func(e audit.Event) bool { return e.Outcome == "error" }
	w.Call(WithRequestID(t.Context(), "r9"), "misbehave", json.RawMessage(`{"how":"panic"}`))
	for _, want := range []string{"a call met a fault of the server", "request_id=r9", "an audit event could not be stored", "no space left"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Error(out.String())
	}
}

func TestTheRuleOfARefusalIsRecorded(t *testing.T) {
	w := newFixture(t, nil)
	w.Call(t.Context(), "misbehave", json.RawMessage(`{"how":"forbidden"}`))
	if e := w.log.all()[1]; e.Rule != "links" {
		t.Errorf("%+v", e)
	}
}

func TestWhatTheVerdictRestsOnIsRecorded(t *testing.T) {
	w := newFixture(t, func(c *Config) {
		c.Vocabulary.Tools = append(c.Vocabulary.Tools, New(Spec{Name: "bound", Title: "t", Doc: "d", Toolset: "x", Effect: Reads},
			func(ctx context.Context, _ struct{}) (struct{}, error) {
				Under(ctx, "restriction_1")
				return struct{}{}, nil
			}))
	})
	w.Call(t.Context(), "bound", json.RawMessage(`{}`))
	if e := w.log.all()[0]; e.Rule != "restriction_1" || e.Verdict != "allow" {
		t.Errorf("%+v", e)
	}
}

func TestWhatIsRefusedBeforeItStartsIsOneEvent(t *testing.T) {
	for _, c := range []struct{ what, tool, args, code string }{
		{"a missing parameter", "store", `{}`, "PARAM_001"},
		{"an unknown parameter", "store", `{"path":"p","content":"c","x":1}`, "PARAM_002"},
		{"no JSON at all", "store", `{"path":`, "PARAM_003"},
		{"an unknown tool", "stroe", `{"path":"p"}`, "PARAM_002"},
	} {
		w := newFixture(t, nil)
		r := read(t, w.Call(t.Context(), c.tool, json.RawMessage(c.args)))
		if string(r.failure(t).Code) != c.code || len(w.stored) != 0 {
			t.Errorf("%s: %s", c.what, r.StructuredContent)
		}
		events := w.log.all()
		if len(events) != 1 || events[0].Outcome != "refused" || events[0].Code != c.code || events[0].Tool != c.tool {
			t.Errorf("%s: %+v", c.what, events)
		}
	}
}

func TestAnUnknownToolIsToldWithTheNearest(t *testing.T) {
	w := newFixture(t, nil)
	got := read(t, w.Call(t.Context(), "stroe", nil)).failure(t)
	if got.Message != `there is no tool "stroe". Did you mean "store"? The tools are say, store, misbehave.` || got.Details["did_you_mean"] != "store" {
		t.Errorf("%+v", got)
	}
}

func TestContentsAndSecretsReachTheLogOnlyAsDigests(t *testing.T) {
	w := newFixture(t, func(c *Config) { c.Locate = func(p string) string { return "/root/" + p } })
	r := read(t, w.Call(t.Context(), "store", json.RawMessage(`{"path":"a.txt","content":"dear diary","token":"hunter2"}`)))
	if r.IsError || !slices.Equal(w.stored, []string{"dear diary"}) {
		t.Fatalf("%s", r.StructuredContent)
	}
	events := w.log.all()
	if len(events) != 2 || events[0].Outcome != "begin" || events[1].Outcome != "ok" {
		t.Fatalf("%+v", events)
	}
	for _, e := range events {
		if !slices.Equal(e.Paths, []string{"/root/a.txt"}) {
			t.Errorf("paths %v", e.Paths)
		}
		if s := string(e.Arguments); strings.Contains(s, "diary") || strings.Contains(s, "hunter2") || !strings.Contains(s, `"bytes":10`) || !strings.Contains(s, "a.txt") {
			t.Errorf("arguments %s", s)
		}
	}
}

func TestSecretsOfRefusedArgumentsDoNotReachTheLog(t *testing.T) {
	for _, args := range []string{
		`{"path":"a.txt","content":"hunter2","x":1}`, `{"path":"a.txt","content":"hunter2"`, `["hunter2"`,
		`{"path":"a.txt","token":"hunter2","token":"hunter2"}`,
	} {
		w := newFixture(t, nil)
		if r := read(t, w.Call(t.Context(), "store", json.RawMessage(args))); !r.IsError {
			t.Fatalf("%s was accepted", args)
		}
		if e := w.log.all()[0]; strings.Contains(string(e.Arguments)+e.Cause, "hunter2") {
			t.Errorf("%s: recorded as %s", args, e.Arguments)
		}
	}
}

func TestARequiredRecordComesFirst(t *testing.T) {
	refuse := func(outcome string) func(audit.Event) bool {
		return func(e audit.Event) bool { return e.Outcome == outcome }
	}
	for _, c := range []struct {
		what     string
		required bool
		fails    string
		tool     string
		args     string
		code     fault.Code // "" for a success
		stored   int
		events   int
	}{
		{"a write whose begin cannot be stored does not start", true, "begin", "store", `{"path":"p","content":"c"}`, fault.Unavailable, 0, 1},
		{"a write whose end cannot be stored has happened", true, "ok", "store", `{"path":"p","content":"c"}`, "", 1, 1},
		{"a run whose begin cannot be stored does not start", true, "begin", "misbehave", `{"how":"panic"}`, fault.Unavailable, 0, 1},
		{"a read that cannot be stored is withheld", true, "ok", "say", `{"word":"secret"}`, fault.Unavailable, 0, 0},
		{"a failed read keeps its own error", true, "error", "say", `{"word":""}`, fault.ParamInvalid, 0, 0},
		{"a refusal keeps its own error", true, "refused", "say", `{}`, fault.ParamMissing, 0, 0},
		{"a write goes on where no record is required", false, "begin", "store", `{"path":"p","content":"c"}`, "", 1, 1},
		{"a read goes on where no record is required", false, "ok", "say", `{"word":"a"}`, "", 0, 0},
	} {
		w := newFixture(t, func(conf *Config) { conf.AuditRequired = c.required })
		w.log.fail = refuse(c.fails)
		r := read(t, w.Call(t.Context(), c.tool, json.RawMessage(c.args)))
		if r.IsError != (c.code != "") || r.IsError && r.failure(t).Code != c.code {
			t.Errorf("%s: %s", c.what, r.StructuredContent)
		}
		if len(w.stored) != c.stored || len(w.log.all()) != c.events {
			t.Errorf("%s: stored %d, recorded %+v", c.what, len(w.stored), w.log.all())
		}
		if strings.Contains(string(r.StructuredContent), "device") || r.IsError && strings.Contains(string(r.StructuredContent), "secretsecret") {
			t.Errorf("%s: the client was told %s", c.what, r.StructuredContent)
		}
	}
}

func TestOnlyWhatRunsSaysThatItWaits(t *testing.T) {
	w := newFixture(t, nil)
	c := newClient("one")
	ctx := w.WithContext(t.Context(), c)
	for _, one := range []struct {
		tool, args string
		waits      int
	}{
		{"say", `{"word":"a"}`, 0},
		{"store", `{"path":"p","content":"c"}`, 0},
		{"misbehave", `{}`, 0}, // refused before it starts
		{"misbehave", `{"how":"well"}`, 1},
	} {
		if w.Call(ctx, one.tool, json.RawMessage(one.args)); c.waits != one.waits {
			t.Errorf("%s %s: %d, want %d", one.tool, one.args, c.waits, one.waits)
		}
	}
}

func TestTheDurationIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, struct{}) (sayOut, error) {
			time.Sleep(1500 * time.Microsecond)
			return sayOut{}, nil
		}
		w := newFixture(t, func(c *Config) {
			c.Vocabulary.Tools = []Tool{New(Spec{Name: "slow", Doc: "Wait.", Effect: Reads}, slow)}
		})
		w.Call(t.Context(), "slow", nil)
		if e := w.log.all()[0]; e.DurationMS != 1.5 {
			t.Errorf("%v ms", e.DurationMS)
		}
	})
}

func TestTheRateIsLimitedPerSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, func(c *Config) { c.Rate = Rate{Calls: 3, Per: time.Minute} })
		one := w.WithContext(t.Context(), newClient("one"))
		two := w.WithContext(t.Context(), newClient("two"))
		args := json.RawMessage(`{"word":"a"}`)
		for i := range 3 {
			if r := read(t, w.Call(one, "say", args)); r.IsError {
				t.Fatalf("call %d: %s", i, r.StructuredContent)
			}
		}
		time.Sleep(500 * time.Millisecond)
		got := read(t, w.Call(one, "say", args)).failure(t)
		if got.Code != fault.LimitReached || got.Details["retry_after_seconds"] != 20.0 || got.Details["limit"] != 3.0 {
			t.Errorf("%+v", got)
		}
		if got.Message != "the limit of 3 calls in 1m0s is used up. Try again in 20 seconds." {
			t.Error(got.Message)
		}
		events := w.log.all()
		if e := events[len(events)-1]; e.Verdict != "deny" || e.Outcome != "refused" || e.Rule != "rate-limit" || e.Session != "one" {
			t.Errorf("%+v", e)
		}
		if r := read(t, w.Call(two, "say", args)); r.IsError {
			t.Error("one session used up the calls of another")
		}
		time.Sleep(20 * time.Second)
		if r := read(t, w.Call(one, "say", args)); r.IsError {
			t.Errorf("after the told time: %s", r.StructuredContent)
		}
		if r := read(t, w.Call(one, "say", args)); !r.IsError {
			t.Error("a refused call was given back twice")
		}
	})
}

func TestLimitsDoNotGrowWithSessions(t *testing.T) {
	l := &limits{rate: Rate{Calls: 1, Per: time.Minute}, sessions: map[string]*rate.Limiter{}}
	now := time.Unix(1000, 0)
	for i := range maxSessions * 2 {
		now = now.Add(time.Second)
		if err := l.take(fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.sessions) > maxSessions {
		t.Errorf("%d sessions are remembered", len(l.sessions))
	}
	last := fmt.Sprint(maxSessions*2 - 1)
	if l.take(last, now) == nil {
		t.Error("making room gave a session its call back")
	}
	l.forget(last)
	if l.take(last, now) != nil {
		t.Error("a session that ended is still limited")
	}
}

func TestAConfigurationThatContradictsItselfIsRefused(t *testing.T) {
	tool := New(Spec{Name: "say", Doc: "Say.", Effect: Reads}, say)
	good := Config{Name: "n", Vocabulary: Vocabulary{Tools: []Tool{tool}}}
	for _, c := range []struct {
		what   string
		change func(*Config)
		says   string
	}{
		{"no name", func(c *Config) { c.Name = "" }, "no name"},
		{"no tool", func(c *Config) { c.Vocabulary.Tools = nil }, "offers no tool"},
		{"two of one name", func(c *Config) { c.Vocabulary.Tools = []Tool{tool, tool} }, `two tools named "say"`},
		{"a tool made by hand", func(c *Config) { c.Vocabulary.Tools = []Tool{{Spec: tool.Spec}} }, "not made by New"},
		{"a required log that is not there", func(c *Config) { c.AuditRequired = true }, "there is none"},
		{"calls in no time", func(c *Config) { c.Rate.Calls = 1 }, "rate limit"},
		{"no calls in a minute", func(c *Config) { c.Rate.Per = time.Minute }, "rate limit"},
		{"fewer calls than none", func(c *Config) { c.Rate = Rate{math.MinInt, time.Second} }, "rate limit"},
		{"a broken template", func(c *Config) { c.Resources = &Resources{URITemplate: "file:///{+path", Name: "n", Read: readNothing} }, "not well-formed"},
		{"no template", func(c *Config) { c.Resources = &Resources{Name: "n", Read: readNothing} }, "not well-formed"},
		{"nothing that reads", func(c *Config) { c.Resources = &Resources{URITemplate: "x:{y}", Name: "n"} }, "nothing that reads"},
	} {
		conf := good
		c.change(&conf)
		_, err := NewServer(conf)
		if e := fault.From(err); e == nil || e.Code != fault.Misconfigured || !strings.Contains(e.Msg, c.says) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if _, err := NewServer(good); err != nil {
		t.Error(err)
	}
}

func readNothing(context.Context, string) ([]ResourceContent, error) { return nil, nil }
