package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestACallTellsWhatCameOfIt(t *testing.T) {
	c := Start(t, "fake")
	tests := []struct {
		name, tool string
		args       any
		text, code string
		isError    bool
	}{
		{"a value is encoded", "echo", map[string]int{"a": 1}, `{"a":1}`, "", false},
		{"text is sent as it is, a duplicate key with it", "echo", `{"a":1,"a":2}`, `{"a":1,"a":2}`, "", false},
		{"no arguments are an empty object", "echo", nil, `{}`, "", false},
		{"a tool's failure carries its code", "refuse", nil, "no", "SECURITY_002", true},
		{"a refusal by the protocol has the number as its code", "unknown", nil, "no such tool", "-32602", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := c.Call(tt.tool, tt.args)
			if r.Text != tt.text || r.Code != tt.code || r.IsError != tt.isError {
				t.Errorf("got %q %q %t", r.Text, r.Code, r.IsError)
			}
		})
	}
}

func TestTheModernEraSaysWhoAsksOnEachRequest(t *testing.T) {
	c := Options{Era: Modern, Capabilities: map[string]any{"roots": map[string]any{}}}.Start(t, "fake")
	params := map[string]any{"name": "meta", "arguments": map[string]any{}, "_meta": map[string]any{"progressToken": 7}}
	r := c.Begin("tools/call", params).Result()
	var got map[string]any
	if err := r.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "mcptest", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"roots": map[string]any{}},
		"progressToken": 7.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(params["_meta"].(map[string]any)) != 1 {
		t.Error("the caller's own _meta was changed")
	}
}

func TestAllPagesOfTheToolListAreRead(t *testing.T) {
	tools := Start(t, "fake").Tools()
	if len(tools) != 2 || tools[0].Name != "first" || tools[1].Annotations["readOnlyHint"] != true {
		t.Errorf("tools are %+v", tools)
	}
}

func TestNotificationsAreKept(t *testing.T) {
	c := Start(t, "fake")
	c.Call("progress", nil)
	if notes := c.Notifications(); len(notes) != 1 || notes[0].Method != "notifications/progress" {
		t.Errorf("notifications are %v", notes)
	}
}

func TestACancelledRequestStaysUnanswered(t *testing.T) {
	c := Start(t, "fake")
	call := c.Begin("tools/call", map[string]any{"name": "never"})
	call.Cancel("enough")
	seen := c.Await(method("notifications/seen"))
	if want := fmt.Sprintf(`{"reason":"enough","requestId":%d}`, call.ID()); string(seen.Params) != want {
		t.Errorf("the server saw %s, not %s", seen.Params, want)
	}
	if call.Answered() {
		t.Error("it was answered")
	}
}

func method(name string) func(Message) bool {
	return func(m Message) bool { return m.Method == name }
}

func TestTheServersQuestionsAreAnswered(t *testing.T) {
	roots := func(string, json.RawMessage) (any, *Error) { return map[string]int{"roots": 0}, nil }
	tests := []struct {
		name   string
		answer func(string, json.RawMessage) (any, *Error)
		want   string
	}{
		{"by the test's function", roots, `{"result":{"roots":0},"error":false}`},
		{"with a refusal where there is none", nil, `{"result":null,"error":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Options{Answer: tt.answer}.Start(t, "fake")
			c.Call("ask", nil)
			if told := c.Await(method("notifications/told")); string(told.Params) != tt.want {
				t.Errorf("the server was told %s", told.Params)
			}
		})
	}
}

func TestAPersonAnswersWhatAResultAsksFor(t *testing.T) {
	var read string
	person := func(question string) string { read = question; return "accept" }
	refuses := func(string, json.RawMessage) (any, *Error) { return nil, &Error{Code: -1} }
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"who accepts", Options{}.WithPerson(person), `{"q":{"action":"accept","content":{"ok":true}}}`},
		{"who declines", Options{}.WithPerson(func(string) string { return "decline" }), `{"q":{"action":"decline"}}`},
		{"who is behind another answer", Options{Answer: refuses}.WithPerson(person), `{"q":{"action":"accept","content":{"ok":true}}}`},
		{"whom the client does not ask", Options{Answer: refuses}, `{}`},
	} {
		tt.o.Era = Modern
		if r := tt.o.Start(t, "fake").Call("consent", nil); string(r.Structured) != tt.want {
			t.Errorf("%s: %s", tt.name, r.Raw)
		}
	}
	if read != "sure?" {
		t.Errorf("the person read %q", read)
	}
	if asked := (Options{Era: Modern}).Start(t, "fake").Call("consent", nil).Asked(); !asked.InputRequired() || asked.RequestState != "s" {
		t.Errorf("without a person it is %+v", asked)
	}
}

func TestALineIsSentAsItIs(t *testing.T) {
	c := Start(t, "fake")
	c.Send(`{"broken`)
	if m := c.Receive(); m.Error == nil || m.Error.Code != -32700 || string(m.ID) != "null" {
		t.Errorf("received %+v", m)
	}
	c.Send(`{"jsonrpc":"2.0","id":"mine","method":"nothing"}`)
	if m := c.Receive(); string(m.ID) != `"mine"` {
		t.Errorf("received %+v", m)
	}
}

func TestCloseIsTheExitCode(t *testing.T) {
	if code := Start(t, "fake").Close(); code != 0 {
		t.Errorf("it is %d", code)
	}
}

func TestABadServerFailsTheTest(t *testing.T) {
	tests := []struct {
		name string
		test func(t testing.TB)
		want string
	}{
		{"that writes something else to stdout", func(t testing.TB) {
			Start(t, "fake").Call("babble", nil)
		}, `stdout carries MCP only, but the server wrote "Listening on port 80"`},
		{"that dies, with its last words", func(t testing.TB) {
			Start(t, "fake").Call("die", nil)
		}, "die: the server has ended\nits stderr:\nout of cheese"},
		{"that never answers", func(t testing.TB) {
			impatient(Start(t, "fake")).Call("never", nil)
		}, "never: no answer in 1ms"},
		{"that says nothing where something is awaited", func(t testing.TB) {
			impatient(Start(t, "fake")).Await(method("x"))
		}, "nothing in 1ms"},
		{"that does not end with its input", func(t testing.TB) {
			impatient(Start(t, "fake", "deaf")).Close()
		}, "close: the server was still running 1ms after its input had ended"},
		{"that answers a call without content", func(t testing.TB) {
			Start(t, "fake").Call("shapeless", nil)
		}, "a tool result has no content: {}"},
		{"that does not exist", func(t testing.TB) {
			Start(t, "no-such-server")
		}, `start no-such-server: exec: "no-such-server": executable file not found in $PATH`},
		{"that refuses what has to succeed", func(t testing.TB) {
			Start(t, "fake").Result("nothing", nil)
		}, "nothing was refused: -32601: no such method"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := failures(tt.test); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the test said\n%s\nnot\n%s", got, tt.want)
			}
		})
	}
}

// impatient makes c give up at once, on a server that is up already.
func impatient(c *Client) *Client {
	c.c.patience = time.Millisecond
	return c
}

// failures runs a test on its own and is what it complained of.
func failures(test func(testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-done
	return strings.Join(r.said, "\n")
}

// recorder is a testing.TB that keeps what it is told. Its methods not written
// here panic, for the TB within is nil.
type recorder struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func TestGoldenFilesAreCompared(t *testing.T) {
	file := t.TempDir() + "/list"
	if err := os.WriteFile(file, []byte("as it was\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if said := failures(func(t testing.TB) { Golden(t, file, "as it was\n") }); said != "" {
		t.Errorf("the same text differs: %s", said)
	}
	if said := failures(func(t testing.TB) { Golden(t, file, "as it is\n") }); !strings.Contains(said, "as it was") {
		t.Errorf("another text does not: %q", said)
	}
	if said := failures(func(t testing.TB) { Golden(t, file+"-none", "") }); !strings.Contains(said, "-update writes it") {
		t.Errorf("no file is no difference: %q", said)
	}
}

func TestScripts(t *testing.T) { Scripts(t, "testdata") }

func TestASessionNeedsAScriptAndAProgram(t *testing.T) {
	for _, args := range [][]string{{}, {"script"}, {"-era", "stone", "script", "fake"}, {"-", "no-such-server"}, {"no-such-script", "fake"}} {
		if err := session(args, strings.NewReader(""), io.Discard, io.Discard); err == nil {
			t.Errorf("%q is enough", args)
		}
	}
}

func TestGeneratedPartsOfADocumentAreCompared(t *testing.T) {
	file := t.TempDir() + "/README.md"
	if err := os.WriteFile(file, []byte("x\n<!-- begin: a -->\nas it was\n<!-- end: a -->\ny\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, name, body, want string }{
		{"what the code says", "a", "as it was\n", ""},
		{"another text", "a", "as it is\n", "not what the code says"},
		{"no such part", "b", "", `no section "b"`},
	} {
		said := failures(func(t testing.TB) { Sections(t, file, map[string]string{c.name: c.body}) })
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q", c.what, said)
		}
	}
}
