package toolkit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// yes answers the question of a result.
const yes = `{"confirm":{"action":"accept","content":{"agree":true}}}`

// round calls a tool in 2026-07-28 with a state of an earlier call, "" for none.
func round(c *mcptest.Client, tool, args, state, answers string) mcptest.Result {
	params := map[string]any{"name": tool, "arguments": json.RawMessage(args)}
	if state != "" {
		params["requestState"], params["inputResponses"] = state, json.RawMessage(answers)
	}
	return c.Begin("tools/call", params).Result()
}

func asks(t *testing.T) *mcptest.Client {
	t.Helper()
	return mcptest.Options{Era: mcptest.Modern, Capabilities: map[string]any{"elicitation": map[string]any{}}}.Start(t, "asker")
}

func TestTheFirstResultIsTheQuestionAndNothingIsDone(t *testing.T) {
	c := asks(t)
	r := round(c, "do", `{"what":"x"}`, "", "")
	asked := r.Asked()
	if !asked.InputRequired() || asked.RequestState == "" || r.IsError || r.Structured != nil || len(asked.InputRequests) != 1 {
		t.Fatalf("%s", r.Raw)
	}
	want := `{"message":"Do x?\n\nIt cannot be undone.","requestedSchema":{"properties":{"agree":{"default":false,"description":"Whether this may be done, this once","title":"Yes, do it","type":"boolean"}},"required":["agree"],"type":"object"}}`
	if q := asked.InputRequests["confirm"]; q.Method != "elicitation/create" || string(q.Params) != want {
		t.Errorf("%s %s", q.Method, q.Params)
	}
	wasDone(t, c, 0)
	if got := came(t, round(c, "do", `{"what":"x"}`, asked.RequestState, yes)); got != "done" {
		t.Error(got)
	}
	wasDone(t, c, 1)
}

func TestAStateCountsOnceForOneCall(t *testing.T) {
	c, other := asks(t), asks(t)
	fresh := func() string { return round(c, "do", `{"what":"x","also":["y"]}`, "", "").Asked().RequestState }
	used := fresh()
	round(c, "do", `{"what":"x","also":["y"]}`, used, yes)
	for _, w := range []struct {
		name, tool, args, state, answers, want string
	}{
		{"a changed argument", "do", `{"what":"z","also":["y"]}`, fresh(), yes, "SECURITY_003"},
		{"an argument more", "do", `{"what":"x","also":["y"],"patience_ms":9}`, fresh(), yes, "SECURITY_003"},
		{"a list in another order", "do", `{"what":"y","also":["x"]}`, fresh(), yes, "SECURITY_003"},
		{"another tool", "redo", `{"what":"x","also":["y"]}`, fresh(), yes, "SECURITY_003"},
		{"a tool that asks nothing", "count", `{"what":"x","also":["y"]}`, fresh(), yes, "SECURITY_003"},
		{"used before", "do", `{"what":"x","also":["y"]}`, used, yes, "SECURITY_003"},
		{"of another process", "do", `{"what":"x","also":["y"]}`, round(other, "do", `{"what":"x","also":["y"]}`, "", "").Asked().RequestState, yes, "-32602"},
		{"cut short", "do", `{"what":"x","also":["y"]}`, fresh()[:100], yes, "-32602"},
		{"with something behind it", "do", `{"what":"x","also":["y"]}`, fresh() + strings.Repeat("A", 128), yes, "-32602"},
		{"no base64", "do", `{"what":"x","also":["y"]}`, "yes, please", yes, "-32602"},
		{"without an answer", "do", `{"what":"x","also":["y"]}`, fresh(), `{}`, unsupported},
		{"the answer to another question", "do", `{"what":"x","also":["y"]}`, fresh(), strings.Replace(yes, "confirm", "other", 1), unsupported},
		{"arguments in another order", "do", ` {"also" : ["\u0079"], "what":"x"}`, fresh(), yes, "asked"},
		{"the answer without the state", "do", `{"what":"x","also":["y"]}`, "", yes, "asked"},
	} {
		if got := came(t, round(c, w.tool, w.args, w.state, w.answers)); got != w.want {
			t.Errorf("%s: %s, not %s", w.name, got, w.want)
		}
	}
	wasDone(t, c, 0)
}

func TestAChangedStateIsRefusedWhateverWasChanged(t *testing.T) {
	w, _ := confirming(t, nil)
	raw, err := base64.RawURLEncoding.DecodeString(w.ask(t, `{"what":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		changed := append([]byte(nil), raw...)
		changed[i] ^= 1
		r := w.call(t, "do", `{"what":"x"}`, base64.RawURLEncoding.EncodeToString(changed))
		if r.refused != mcp.INVALID_PARAMS {
			t.Fatalf("byte %d: %+v", i, r)
		}
	}
	if r := w.call(t, "do", `{"what":"x"}`, base64.RawURLEncoding.EncodeToString(raw)); r.IsError {
		t.Errorf("as it was: %s", r.StructuredContent)
	}
	if w.done.Load() != 1 {
		t.Errorf("%d things were done", w.done.Load())
	}
}

func TestAnAgreementCountsForItsQuestionOnly(t *testing.T) {
	w, _ := confirming(t, nil)
	version := "1"
	w.tool(t, func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, Confirm(ctx, Question{ID: version, Title: "Do it?"})
	})
	state := w.ask(t, `{}`)
	version = "2" // what would be done has changed while the person thought about it
	if r := w.call(t, "do", `{}`, state); r.ResultType != "input_required" {
		t.Errorf("%+v", r)
	}
}

func TestOpenQuestionsAreBoundedAndRunOut(t *testing.T) {
	w, now := confirming(t, nil)
	first := w.ask(t, `{"what":"x"}`)
	for range maxOpen - 1 {
		w.ask(t, `{"what":"x"}`)
	}
	f := w.call(t, "do", `{"what":"x"}`, "").failure(t)
	if f.Code != "RESOURCE_005" || f.Details["limit"] != float64(maxOpen) || f.Details["retry_after_seconds"] != 120.0 {
		t.Errorf("%+v", f)
	}
	if r := w.call(t, "do", `{"what":"x"}`, first); r.IsError {
		t.Errorf("an open question lost its answer: %s", r.StructuredContent)
	}
	*now = now.Add(defaultPatience)
	last := w.ask(t, `{"what":"x"}`)
	w.ask(t, `{"what":"x"}`)
	if n := len(w.states.open); n != 2 {
		t.Errorf("%d states are remembered", n)
	}
	if r := w.call(t, "do", `{"what":"x"}`, last); r.IsError {
		t.Errorf("%s", r.StructuredContent)
	}
}

func TestAStateThatIsOverIsATimeout(t *testing.T) {
	w, now := confirming(t, nil)
	state := w.ask(t, `{"what":"x"}`)
	*now = now.Add(defaultPatience)
	if f := w.call(t, "do", `{"what":"x"}`, state).failure(t); f.Code != "SECURITY_003" || f.Details["answer"] != late {
		t.Errorf("%+v", f)
	}
	if w.done.Load() != 0 {
		t.Error("it was done")
	}
}

func TestTheLogTellsThatAPersonWasAskedAndWhatCameOfIt(t *testing.T) {
	w, _ := confirming(t, nil)
	w.call(t, "do", `{"what":"x"}`, w.ask(t, `{"what":"x"}`))
	w.call(t, "do", `{"what":"x"}`, "forged")
	w.answer = `{"confirm":{"action":"decline"}}`
	w.call(t, "do", `{"what":"x"}`, w.ask(t, `{"what":"x"}`))
	w.capabilities = `{}`
	w.call(t, "do", `{"what":"x"}`, "")
	logged(t, w.log.all(),
		"allow begin  ",
		"ask begin confirm question id of x",
		"ask ok confirm question id of x",
		"allow begin  ",
		"allow ok confirm:agreed question id of x",
		"deny refused confirm:state the request state is forged",
		"allow begin  ",
		"ask begin confirm question id of x",
		"ask ok confirm question id of x",
		"allow begin  ",
		"deny refused confirm:declined question id of x",
		"allow begin  ",
		"deny refused confirm:unsupported question id of x",
	)
}

func TestNobodyIsAskedOffTheRecord(t *testing.T) {
	w, _ := confirming(t, func(c *Config) { c.AuditRequired = true })
	w.log.fail = func(e audit.Event) bool { return e.Verdict == "ask" }
	if f := w.call(t, "do", `{"what":"x"}`, "").failure(t); f.Code != "SYSTEM_002" {
		t.Errorf("%+v", f)
	}
	if n := len(w.states.open); n != 0 {
		t.Errorf("%d states were given out", n)
	}
}

func logged(t *testing.T, events []audit.Event, want ...string) {
	t.Helper()
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Verdict, e.Outcome, e.Rule, e.Cause))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log tells\n%s", strings.Join(got, "\n"))
	}
}

// confirmer is a fixture with the tools that ask, and a client of 2026-07-28.
type confirmer struct {
	*fixture
	done                 atomic.Int64
	capabilities, answer string
}

func confirming(t *testing.T, change func(*Config)) (*confirmer, *time.Time) {
	t.Helper()
	w := &confirmer{capabilities: `{"elicitation":{}}`, answer: yes}
	now := time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)
	w.fixture = newFixture(t, func(c *Config) {
		c.Vocabulary.Tools = askingTools(&w.done)
		c.Clock = func() time.Time { return now }
		if change != nil {
			change(c)
		}
	})
	return w, &now
}

// tool makes do another function.
func (w *confirmer) tool(t *testing.T, do func(context.Context, struct{}) (struct{}, error)) {
	w.fixture = newFixture(t, func(c *Config) {
		c.Vocabulary.Tools = []Tool{New(Spec{Name: "do", Doc: "Do.", Effect: Runs}, do)}
	})
}

// confirmed is a result of 2026-07-28.
type confirmed struct {
	toolResult
	ResultType, RequestState string
	refused                  int // by the protocol, with this code
}

func (w *confirmer) call(t *testing.T, tool, args, state string) confirmed {
	t.Helper()
	more := ""
	if state != "" {
		more = fmt.Sprintf(`"requestState":%q,"inputResponses":%s,`, state, w.answer)
	}
	meta := strings.Replace(modern, "{}", w.capabilities, 1)
	a := w.send(t, t.Context(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s%s}}`, tool, args, more, meta))
	var r confirmed
	if a.Error != nil {
		r.refused = a.Error.Code
		return r
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r
}

// ask is the state of a question.
func (w *confirmer) ask(t *testing.T, args string) string {
	t.Helper()
	r := w.call(t, "do", args, "")
	if r.ResultType != "input_required" || r.RequestState == "" {
		t.Fatalf("nobody is asked: %+v", r)
	}
	return r.RequestState
}
