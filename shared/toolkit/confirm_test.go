package toolkit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestAPersonIsAskedAndTheAnswerCounts(t *testing.T) {
	inBothEras(t, func(t *testing.T, o mcptest.Options) {
		for says, want := range map[string]string{"accept": "done", "decline": declined, "cancel": cancelled} {
			var read []string
			c := o.WithPerson(func(question string) string { read = append(read, question); return says }).Start(t, "asker")
			if got := came(t, c.Call("do", `{"what":"x"}`)); got != want {
				t.Errorf("%s: %s", says, got)
			}
			if want := []string{"Do x?\n\nIt cannot be undone."}; !slices.Equal(read, want) {
				t.Errorf("the person read %q", read)
			}
			wasDone(t, c, map[bool]int64{true: 1}[want == "done"])
		}
	})
}

func TestARefusalSaysWhatHappenedAndWhatToDo(t *testing.T) {
	want := map[string]string{
		"decline": "SECURITY_003: the person was asked, and declined. Do not try it again, in this way or another, unless the person wants it.",
		"cancel":  "SECURITY_003: the question to the person was closed without a choice. Talk to the person before you try again.",
	}
	for says, want := range want {
		c := mcptest.Options{}.WithPerson(func(string) string { return says }).Start(t, "asker")
		if r := c.Call("do", `{"what":"x"}`); r.Text != want {
			t.Errorf("%s: %s", says, r.Text)
		}
	}
	want2 := "SECURITY_003: what was asked for needs the consent of a person, and this client cannot ask one. Leave it to the person, or find a way that needs no consent."
	if r := mcptest.Start(t, "asker").Call("do", `{"what":"x"}`); r.Text != want2 {
		t.Error(r.Text)
	}
}

func TestAnAnswerThatSaysNothingIsNoConsent(t *testing.T) {
	answers := []struct {
		name, json, want string
	}{
		{"accepted without a choice", `{"action":"accept"}`, unsupported},
		{"an empty form", `{"action":"accept","content":{}}`, unsupported},
		{"another field", `{"action":"accept","content":{"ok":true}}`, unsupported},
		{"true as a text", `{"action":"accept","content":{"agree":"true"}}`, unsupported},
		{"a form of another shape", `{"action":"accept","content":[true]}`, unsupported},
		{"accepted with no", `{"action":"accept","content":{"agree":false}}`, declined},
		{"declined with yes", `{"action":"decline","content":{"agree":true}}`, declined},
		{"an action there is not", `{"action":"Accept","content":{"agree":true}}`, unsupported},
		{"a text", `"accept"`, unsupported},
		{"null", `null`, unsupported},
		{"an error", ``, unsupported},
	}
	inBothEras(t, func(t *testing.T, o mcptest.Options) {
		var now string
		o.Capabilities = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
		o.Answer = func(string, json.RawMessage) (any, *mcptest.Error) {
			if now == "" {
				return nil, &mcptest.Error{Code: -32603, Message: "the window could not be opened"}
			}
			return json.RawMessage(now), nil
		}
		c := o.Start(t, "asker")
		for _, a := range answers {
			now = a.json
			if got := came(t, c.Call("do", `{"what":"x"}`)); got != a.want {
				t.Errorf("%s: %s, not %s", a.name, got, a.want)
			}
		}
		wasDone(t, c, 0)
	})
}

func TestAClientThatCannotAskIsNotAsked(t *testing.T) {
	inBothEras(t, func(t *testing.T, o mcptest.Options) {
		for _, can := range []string{`{}`, `{"roots":{}}`, `{"elicitation":{"url":{}}}`} {
			if err := json.Unmarshal([]byte(can), &o.Capabilities); err != nil {
				t.Fatal(err)
			}
			o.Answer = func(method string, _ json.RawMessage) (any, *mcptest.Error) {
				t.Errorf("%s: it was asked for %s", can, method)
				return nil, nil
			}
			c := o.Start(t, "asker")
			if got := came(t, c.Call("do", `{"what":"x"}`)); got != unsupported {
				t.Errorf("%s: %s", can, got)
			}
			wasDone(t, c, 0)
			o.Capabilities = nil
		}
	})
}

func TestOutsideOfMCPNobodyIsAsked(t *testing.T) {
	w := newFixture(t, func(c *Config) { c.Vocabulary.Tools = askingTools(nil) })
	r := read(t, w.Call(t.Context(), "do", json.RawMessage(`{"what":"x"}`)))
	if f := r.failure(t); f.Code != "SECURITY_003" || f.Details["answer"] != unsupported {
		t.Errorf("%+v", f)
	}
	if err := Confirm(t.Context(), Question{ID: "1", Title: "?"}); err == nil {
		t.Error("without a call there is consent")
	}
}

func TestALateAnswerDoesNotCount(t *testing.T) {
	t.Run("legacy", func(t *testing.T) {
		over, answered := make(chan struct{}), make(chan struct{}, 1)
		c := mcptest.Options{}.WithPerson(func(string) string { <-over; answered <- struct{}{}; return "accept" }).Start(t, "asker")
		if got := came(t, c.Call("do", `{"what":"x","patience_ms":20}`)); got != late {
			t.Error(got)
		}
		close(over)
		<-answered
		wasDone(t, c, 0)
	})
	t.Run("modern", func(t *testing.T) {
		c := mcptest.Options{Era: mcptest.Modern}.WithPerson(func(string) string { time.Sleep(40 * time.Millisecond); return "accept" }).Start(t, "asker")
		if got := came(t, c.Call("do", `{"what":"x","patience_ms":20}`)); got != late {
			t.Error(got)
		}
		wasDone(t, c, 0)
	})
}

func TestSeveralQuestionsOfACallAreAskedOnceEach(t *testing.T) {
	inBothEras(t, func(t *testing.T, o mcptest.Options) {
		for _, tool := range []string{"do", "together"} {
			var mu sync.Mutex
			var read []string
			c := o.WithPerson(func(question string) string {
				mu.Lock()
				defer mu.Unlock()
				read = append(read, question[3:strings.Index(question, "?")])
				return map[bool]string{true: "accept", false: "decline"}[!strings.Contains(question, "bad")]
			}).Start(t, "asker")
			if got := came(t, c.Call(tool, `{"what":"a","also":["a","b","c"]}`)); got != "done" {
				t.Errorf("%s: %s", tool, got)
			}
			slices.Sort(read)
			if !slices.Equal(read, []string{"a", "b", "c"}) {
				t.Errorf("%s: asked %q", tool, read)
			}
			if got := came(t, c.Call(tool, `{"what":"a","also":["a","bad"]}`)); got != declined {
				t.Errorf("%s: %s", tool, got)
			}
			wasDone(t, c, 1)
		}
	})
}

// What is answered for one call must not count for another one that waits as well.
func TestAnswersOfCallsAtOnceAreNotMixedUp(t *testing.T) {
	const pairs = 20
	asked := make(chan struct{}, 2*pairs)
	all := make(chan struct{})
	c := mcptest.Options{}.WithPerson(func(question string) string {
		asked <- struct{}{}
		<-all // every question is open
		return map[bool]string{true: "accept", false: "decline"}[strings.Contains(question, "good")]
	}).Start(t, "asker")
	var calls []*mcptest.Pending
	for i := range 2 * pairs {
		what := []string{"good", "bad"}[i%2]
		calls = append(calls, c.Begin("tools/call", map[string]any{"name": "do", "arguments": map[string]any{"what": fmt.Sprint(what, i)}}))
	}
	for range 2 * pairs {
		<-asked
	}
	close(all)
	for i, call := range calls {
		if got, want := came(t, call.Result()), []string{"done", declined}[i%2]; got != want {
			t.Errorf("call %d: %s, not %s", i, got, want)
		}
	}
	wasDone(t, c, pairs)
}

func TestACancelledCallDoesNothing(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	c := mcptest.Options{}.WithPerson(func(string) string { close(asked); <-over; return "accept" }).Start(t, "asker")
	call := c.Begin("tools/call", map[string]any{"name": "do", "arguments": map[string]any{"what": "x"}})
	<-asked
	call.Cancel("enough")
	c.Await(func(m mcptest.Message) bool { return m.Method == "notifications/cancelled" }) // of the question
	close(over)
	wasDone(t, c, 0)
}

func TestAQuestionCannotHideOrForgeWhatItSays(t *testing.T) {
	for _, w := range []struct{ name, title, text, want string }{
		{"control and bidirectional characters", "rm \x1b[8m\u202etxt.a", "", `rm \x1b[8m\u202etxt.a`},
		{"a title of two lines", "one\ntwo\r", "", `one\ntwo\r`},
		{"lines of the text stay", "t", "one\ntwo\u2028\tthree\x00", "t\n\none\ntwo\\u2028\\tthree\\x00"},
		{"bytes that are no text", "\xff", "", `\xff`},
		{"the most that is shown", "t", strings.Repeat("x", maxQuestion), "t\n\n" + strings.Repeat("x", maxQuestion)},
		{"a long text", "t", strings.Repeat("é", 5000) + "; rm -rf /", "t\n\n" + strings.Repeat("é", 3072) + "\n[1818 bytes are not shown here]\n" + strings.Repeat("é", 1019) + "; rm -rf /"},
	} {
		if got := (Question{Title: w.title, Text: w.text}).form().Message; got != w.want {
			t.Errorf("%s: %q", w.name, got)
		}
	}
}

func TestQuestionsThatDifferAnywhereAreOthers(t *testing.T) {
	seen := map[digest]Question{}
	for _, q := range []Question{{"ab", "c", "d", 0}, {"a", "bc", "d", 0}, {"a", "b", "cd", 0}, {"ab", "c", "", 0}, {"", "abc", "d", 0}} {
		if old, twice := seen[q.digest()]; twice {
			t.Errorf("%q is as good as %q", q, old)
		}
		seen[q.digest()] = q
	}
	if (Question{ID: "a", Patience: 1}).digest() != (Question{ID: "a"}).digest() {
		t.Error("the patience is part of what is asked")
	}
}

// TestAQuestionThatIsNotShownAsAWholeIsNotAsked has texts that fit as they are sent, and no
// longer once what could hide in them is escaped.
func TestAQuestionThatIsNotShownAsAWholeIsNotAsked(t *testing.T) {
	part := "; touch stolen; "
	for what, q := range map[string]Question{
		"tabs":                  {Text: "ls" + strings.Repeat("\t", 3100) + part + strings.Repeat("\t", 1000)},
		"control characters":    {Text: strings.Repeat("\x01", 1600) + part + strings.Repeat("\x01", 500)},
		"format characters":     {Text: strings.Repeat("\u00ad", 1100) + part + strings.Repeat("\u00ad", 350)},
		"characters of a plane": {Text: strings.Repeat("\U000e0041", 700) + part + strings.Repeat("\U000e0041", 200)},
		"bytes that are none":   {Text: strings.Repeat("\xff", 1600) + part + strings.Repeat("\xff", 500)},
		"a byte too many":       {Text: strings.Repeat("x", maxQuestion) + "y"},
		"a title":               {Title: strings.Repeat("\x01", 64) + part},
	} {
		q.ID, q.Title = "q", cmp.Or(q.Title, "t")
		shown := q.form().Message
		if whole := !strings.Contains(shown, "bytes are not shown here"); whole || q.Fits() {
			t.Errorf("%s: it fits %v, and is shown as a whole %v", what, q.Fits(), whole)
		}
		if what != "a byte too many" && len(q.Title+q.Text) > maxQuestion {
			t.Errorf("%s: too long as it is sent", what)
		}
		if f := fault.From(Confirm(t.Context(), q)); f == nil || f.Code != fault.Forbidden || f.Details["answer"] != nil {
			t.Errorf("%s: asked: %v", what, f)
		}
	}
	if q := (Question{Title: strings.Repeat("t", maxTitle), Text: strings.Repeat("x", maxQuestion-1) + "\n"}); !q.Fits() {
		t.Error("the most that is shown does not fit")
	}
}

func TestAQuestionNeedsAnIDAndATitle(t *testing.T) {
	for _, q := range []Question{{}, {ID: "1"}, {Title: "Do it?"}} {
		if err := Confirm(t.Context(), q); err == nil {
			t.Errorf("%+v has consent", q)
		}
	}
}
