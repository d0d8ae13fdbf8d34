package toolkit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/audit"
)

func readLine(uri, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q%s}}`, uri, meta)
}

func TestResourcesAreReadInBothEras(t *testing.T) {
	for _, era := range eras {
		for _, c := range []struct{ uri, want string }{
			{"file:///text", `[{"uri":"file:///text","mimeType":"text/plain","text":"hello"}]`},
			{"file:///blob", `[{"uri":"file:///blob","mimeType":"image/png","blob":"AAE="}]`},
			{"file:///empty", `[]`},
		} {
			w := newFixture(t, withResources)
			a := w.send(t, t.Context(), readLine(c.uri, era.meta))
			var got struct{ Contents json.RawMessage }
			if err := json.Unmarshal(a.Result, &got); err != nil || string(got.Contents) != c.want {
				t.Errorf("%s, %s: %s %+v", era.name, c.uri, got.Contents, a.Error)
			}
		}
	}
}

func TestAResourceThatCannotBeReadIsTold(t *testing.T) {
	for _, era := range eras {
		for _, c := range []struct {
			uri     string
			code    int
			is      string
			message string
		}{
			{"file:///missing", mcp.INVALID_PARAMS, "RESOURCE_003", "there is no such file. Look in the directory."},
			{"https://elsewhere/", mcp.INVALID_PARAMS, "RESOURCE_003", `there is no resource "https://elsewhere/". Use resources/templates/list to see what there is.`},
			{"file:///secret", mcp.INVALID_PARAMS, "SECURITY_002", "that is outside. Stay inside."},
			{"file:///panic", mcp.INTERNAL_ERROR, "SYSTEM_001", "the server met a fault of its own. Report it with the request_id; trying again may work."},
			{"file:///odd", mcp.INTERNAL_ERROR, "SYSTEM_001", "the server met a fault of its own. Report it with the request_id; trying again may work."},
		} {
			w := newFixture(t, withResources)
			a := w.send(t, t.Context(), readLine(c.uri, era.meta))
			if a.Error == nil || a.Error.Code != c.code || a.Error.Data["uri"] != c.uri || a.Error.Data["code"] != c.is || a.Error.Message != c.message {
				t.Errorf("%s, %s: %+v", era.name, c.uri, a.Error)
			}
		}
	}
}

func TestAMalformedModernRequestIsNotCalledAMissingResource(t *testing.T) {
	w := newFixture(t, withResources)
	a := w.send(t, t.Context(), readLine("file:///text", `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`))
	if a.Error == nil || a.Error.Data != nil || !strings.Contains(a.Error.Message, "clientCapabilities") {
		t.Errorf("%+v", a.Error)
	}
}

func TestReadsOfResourcesAreRecordedAndLimitedAsCallsAre(t *testing.T) {
	w := newFixture(t, func(c *Config) {
		withResources(c)
		c.Rate = Rate{Calls: 3, Per: time.Hour}
		c.Locate = func(p string) string { return strings.TrimPrefix(p, "file://") }
	})
	for _, uri := range []string{"file:///text", "file:///secret", "file:///panic", "file:///text"} {
		w.send(t, t.Context(), readLine(uri, ""))
	}
	var got []string
	for _, e := range w.log.all() {
		got = append(got, fmt.Sprint(e.Tool, e.Paths, e.Verdict, e.Outcome, e.Code, e.Bytes))
	}
	want := []string{
		"resources/read[/text]allowok5", "resources/read[/secret]denyrefusedSECURITY_0020",
		"resources/read[/panic]allowerrorSYSTEM_0010", "resources/read[/text]denyrefusedRESOURCE_0050",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestAResourceThatCannotBeRecordedIsWithheld(t *testing.T) {
	w := newFixture(t, func(c *Config) { withResources(c); c.AuditRequired = true })
	w.log.fail = func(audit.Event) bool { return true }
	a := w.send(t, t.Context(), readLine("file:///text", ""))
	if a.Error == nil || a.Error.Data["code"] != "SYSTEM_002" || strings.Contains(a.Error.Message, "device") {
		t.Errorf("%s %+v", a.Result, a.Error)
	}
}

func TestPathsAreCompletedUpToAHundred(t *testing.T) {
	w := newFixture(t, withResources)
	line := func(uri, value string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"path","value":%q}}}`, uri, value)
	}
	a := w.send(t, t.Context(), line("file:///{+path}", "src/"))
	var got struct{ Completion mcp.Completion }
	if err := json.Unmarshal(a.Result, &got); err != nil {
		t.Fatalf("%+v", a.Error)
	}
	if c := got.Completion; len(c.Values) != 100 || c.Values[0] != "src/0" || c.Total != 150 || !c.HasMore {
		t.Errorf("%d values, %d in all", len(c.Values), c.Total)
	}
	if e := w.log.all()[0]; e.Tool != "completion/complete" || e.Outcome != "ok" || string(e.Arguments) != `{"prefix":"src/"}` {
		t.Errorf("%+v", e)
	}
	for _, c := range []struct{ uri, value, code string }{{"file:///{+path}", "fail", "SECURITY_002"}, {"other:{x}", "", "RESOURCE_003"}} {
		a := w.send(t, t.Context(), line(c.uri, c.value))
		if a.Error == nil || a.Error.Code != mcp.INVALID_PARAMS || a.Error.Data["code"] != c.code {
			t.Errorf("%s: %+v", c.uri, a.Error)
		}
	}
}

func TestTheTemplateIsListed(t *testing.T) {
	w := newFixture(t, withResources)
	a := w.send(t, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`)
	if want := `{"resourceTemplates":[{"uriTemplate":"file:///{+path}","name":"files","title":"Files","description":"Any file."}]}`; string(a.Result) != want {
		t.Errorf("%s", a.Result)
	}
}

func TestBlocksAreWhatMCPCallsThem(t *testing.T) {
	w := newFixture(t, func(c *Config) {
		c.Vocabulary.Tools = []Tool{New(Spec{Name: "blocks", Doc: "Give blocks.", Effect: Reads}, giveBlocks)}
	})
	r := read(t, w.Call(t.Context(), "blocks", json.RawMessage(`{"how":"all"}`)))
	if len(r.Content) != 4 {
		t.Fatalf("%+v", r.Content)
	}
	got := fmt.Sprintf("%+v", r.Content)
	if want := "[{Type:text Text:t Data: MimeType: Resource:{URI: MimeType: Blob:}} {Type:image Text: Data:AQ== MimeType:image/png Resource:{URI: MimeType: Blob:}} " +
		"{Type:audio Text: Data:Ag== MimeType:audio/wav Resource:{URI: MimeType: Blob:}} {Type:resource Text: Data: MimeType: Resource:{URI:file:///x MimeType:application/pdf Blob:Aw==}}]"; got != want {
		t.Errorf("got %s", got)
	}
	if r := read(t, w.Call(t.Context(), "blocks", json.RawMessage(`{"how":"none"}`))); len(r.Content) != 1 || r.Content[0].Text != `{"how":"none"}` {
		t.Errorf("a result without blocks and without text: %+v", r.Content)
	}
}

type blocksOut struct {
	How string `json:"how"`
}

func (o blocksOut) Contents() []Content {
	if o.How == "none" {
		return nil
	}
	return []Content{TextBlock("t"), ImageBlock("image/png", []byte{1}), AudioBlock("audio/wav", []byte{2}), BlobBlock("file:///x", "application/pdf", []byte{3})}
}

func giveBlocks(_ context.Context, in breakIn) (blocksOut, error) { return blocksOut(in), nil }

func TestCausesOfResourcesAreRecordedAndNotTold(t *testing.T) {
	for _, uri := range []string{"file:///secret", "file:///odd", "file:///panic"} {
		w := newFixture(t, withResources)
		for _, raw := range []any{w.HandleMessage(t.Context(), json.RawMessage(readLine(uri, ""))), w.MCP().HandleMessage(t.Context(), json.RawMessage(readLine(uri, "")))} {
			if said, _ := json.Marshal(raw); strings.Contains(string(said), "hunter2") {
				t.Errorf("%s: %s", uri, said)
			}
		}
		for _, e := range w.log.all() {
			if !strings.Contains(e.Cause, "hunter2") {
				t.Errorf("%s: %+v", uri, e)
			}
		}
	}
}

// subscriber is a session that may subscribe to resources.
type subscriber struct {
	id    string
	heard chan mcp.JSONRPCNotification
	uris  map[string]bool
}

func (s *subscriber) Initialize()                                         {}
func (s *subscriber) Initialized() bool                                   { return true }
func (s *subscriber) SessionID() string                                   { return s.id }
func (s *subscriber) SubscribeToResource(uri string)                      { s.uris[uri] = true }
func (s *subscriber) UnsubscribeFromResource(uri string)                  { delete(s.uris, uri) }
func (s *subscriber) SubscribedResources() []string                       { return nil }
func (s *subscriber) IsSubscribedToResource(uri string) bool              { return s.uris[uri] }
func (s *subscriber) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.heard }

func TestWhoSubscribedToAResourceHearsThatItHasChanged(t *testing.T) {
	var changed func(string)
	w := newFixture(t, func(c *Config) {
		withResources(c)
		c.Resources.Watch = func(f func(string)) { changed = f }
	})
	here := &subscriber{"here", make(chan mcp.JSONRPCNotification, 8), map[string]bool{"file:///text": true}}
	other := &subscriber{"other", make(chan mcp.JSONRPCNotification, 8), map[string]bool{"file:///blob": true}}
	gone := &subscriber{"gone", make(chan mcp.JSONRPCNotification, 8), map[string]bool{"file:///text": true}}
	for _, s := range []*subscriber{here, other, gone} {
		if err := w.RegisterSession(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	w.UnregisterSession(t.Context(), "gone")
	changed("file:///text")
	if len(here.heard) != 1 || len(other.heard) != 0 || len(gone.heard) != 0 {
		t.Fatalf("heard %d, %d, %d times", len(here.heard), len(other.heard), len(gone.heard))
	}
	if n := <-here.heard; n.Method != "notifications/resources/updated" || n.Params.AdditionalFields["uri"] != "file:///text" {
		t.Errorf("heard %+v", n)
	}
}
