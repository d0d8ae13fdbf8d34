package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// site is a web server on loopback, which the server under test is told to let through:
// exactly this listener.
type site struct{ *httptest.Server }

func serve(t *testing.T, handler http.HandlerFunc) site {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return site{s}
}

func (s site) address() string { return s.Listener.Addr().String() }

// start runs the server as a host would.
func start(t *testing.T, s site, flags ...string) *mcptest.Client {
	t.Helper()
	return mcptest.Start(t, "web-fetch", append([]string{"--allow-address", s.address(), "--audit-log", "off"}, flags...)...)
}

// article answers the news article of package page.
func article(w http.ResponseWriter, r *http.Request) {
	http.ServeFile(w, r, "internal/page/testdata/news.html")
}

// masked is a text without what differs from run to run.
func (s site) masked(text string) string {
	text = strings.ReplaceAll(text, s.URL, "http://SITE")
	return regexp.MustCompile(`\d{4}-\d\d-\d\d(T[0-9:.]+(Z|[+-][0-9:]+))?`).ReplaceAllString(text, "DATE")
}

const toolListMax = 2_500 // bytes

func TestAPageIsAnsweredAsItsVocabularySays(t *testing.T) {
	s := serve(t, article)
	for _, vocabulary := range []string{"standard", "agent"} {
		for _, era := range mcptest.Eras() {
			c := mcptest.Options{Era: era}.Start(t, "web-fetch", "--allow-address", s.address(), "--audit-log", "off", "--vocabulary", vocabulary)
			if era == mcptest.Legacy {
				c.ToolList("testdata/tools/"+vocabulary+".json", toolListMax)
			}
			r := c.Call("web_fetch", map[string]any{"url": s.URL + "/news#top"})
			mcptest.Golden(t, "testdata/answers/"+vocabulary+".md", s.masked(r.Text))
			if err := mcptest.Schema(t, c.Tools()[0].OutputSchema)(r.Structured); err != nil {
				t.Error(err)
			}
			c.Close()
		}
	}
}

// The process keeps nothing but sockets and the files by which names are looked up.
func TestTheGoSDKReadsAPageAndIsKeptFromOthers(t *testing.T) {
	s := serve(t, article)
	_, port, _ := strings.Cut(s.address(), ":")
	byName := "http://localhost:" + port + "/"
	client := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	command := exec.Command("web-fetch", "--allow-address", s.address(), "--audit-log", "off", "--restrict", "required")
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for url, want := range map[string]string{
		s.URL:                        "> URL: " + s.URL,
		byName:                       "> URL: " + byName,
		"http://127.0.0.1/":          "SECURITY_002: ",
		"http://169.254.169.254/":    "SECURITY_002: ",
		"file:///etc/passwd":         "SECURITY_003: ",
		"http://nowhere.invalid:99/": "SECURITY_002: ",
	} {
		r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "web_fetch", Arguments: map[string]any{"url": url}})
		if err != nil {
			t.Fatal(err)
		}
		if text := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, want) || r.IsError != strings.Contains(want, "SECURITY") {
			t.Errorf("%s: %s", url, text)
		}
	}
}

func TestACallThatIsCancelledLetsGoOfTheServer(t *testing.T) {
	began, gone := make(chan struct{}), make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(gone)
	})
	c := start(t, s, "--timeout", "1h")
	p := c.Begin("tools/call", map[string]any{"name": "web_fetch", "arguments": map[string]any{"url": s.URL}})
	<-began
	p.Cancel("no longer wanted")
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the connection is still there")
	}
}

func TestTheAuditLogKnowsWhatWasConnectedTo(t *testing.T) {
	s := serve(t, article)
	log := filepath.Join(t.TempDir(), "log.jsonl")
	c := mcptest.Start(t, "web-fetch", "--allow-address", s.address(), "--audit-log", log)
	c.Call("web_fetch", map[string]any{"url": s.URL + "/a?token=hunter2hunter2hunter2"})
	c.Call("web_fetch", map[string]any{"url": "http://10.0.0.1/"})
	c.Close()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var events []audit.Event
	for e, err := range audit.Query(log, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if len(events) != 2 || len(events[0].Paths) != 1 || events[0].Paths[0] != s.address() || events[1].Verdict != "deny" || events[1].Rule != "address" || !strings.Contains(events[1].Cause, "10.0.0.1:80") {
		t.Errorf("%s", b)
	}
	if strings.Contains(string(b), "hunter2") || strings.Contains(string(b), "harbour") {
		t.Errorf("a credential or the page stands in the log: %s", b)
	}
}
