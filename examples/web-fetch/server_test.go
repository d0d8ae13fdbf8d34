package main

import (
	"encoding/json"
	"fmt"
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

func TestAPageIsAnsweredAsItsVocabularySays(t *testing.T) {
	s := serve(t, article)
	for _, vocabulary := range []string{"standard", "agent"} {
		for _, era := range mcptest.Eras() {
			c := mcptest.Options{Era: era}.Start(t, "web-fetch", "--allow-address", s.address(), "--audit-log", "off", "--vocabulary", vocabulary)
			r := c.Call("web_fetch", map[string]any{"url": s.URL + "/news#top"})
			mcptest.Golden(t, "testdata/answers/"+vocabulary+".md", s.masked(r.Text))
			if err := mcptest.Schema(t, c.Tools()[0].OutputSchema)(r.Structured); err != nil {
				t.Error(err)
			}
			c.Close()
		}
	}
}

func TestTheGoSDKReadsAPageAndIsKeptFromOthers(t *testing.T) {
	s := serve(t, article)
	client := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	command := exec.Command("web-fetch", "--allow-address", s.address(), "--audit-log", "off", "--restrict", "required")
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for url, want := range map[string]string{
		s.URL:                        "> URL: " + s.URL,
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

func TestTheFilesOfALookupCanStillBeReadAndNothingElseRuns(t *testing.T) {
	s := serve(t, article)
	c := start(t, s, "--restrict", "required")
	_, port, _ := strings.Cut(s.address(), ":")
	if r := c.Call("web_fetch", map[string]any{"url": "http://localhost:" + port + "/"}); r.IsError {
		t.Errorf("a name of /etc/hosts: %s", r.Text)
	}
}

// answered is what the tests look at of an answer.
type answered struct {
	Content, NextCursor, Form, MIMEType, Title string
	Size                                       int
	Truncated                                  bool
	LeftOut                                    struct{ HiddenElements, InvisibleCharacters int }
}

func fetched(t *testing.T, c *mcptest.Client, url, cursor string) answered {
	t.Helper()
	args := map[string]any{"url": url}
	if cursor != "" {
		args["cursor"] = cursor
	}
	r := c.Call("web_fetch", args)
	var a answered
	if err := r.Decode(&a); err != nil || r.IsError {
		t.Fatalf("%s %v", r.Text, err)
	}
	return a
}

func TestThePartsOfALongPageAreTheWhole(t *testing.T) {
	var page strings.Builder
	for i := range 400 {
		fmt.Fprintf(&page, "段落 %d: the quick brown fox, いろはにほへと。\n\n", i)
	}
	page.WriteString(strings.Repeat("無", 500)) // nowhere to cut but within a word
	visits := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		visits++
		w.Header().Set("Content-Type", "text/markdown")
		fmt.Fprint(w, page.String(), visits) // another one each time
	})
	c := start(t, s, "--max-answer-bytes", "1000")
	var whole strings.Builder
	parts, cursor := 0, ""
	for {
		a := fetched(t, c, s.URL, cursor)
		whole.WriteString(a.Content)
		if len(a.Content) > 1000 || a.Truncated != (a.NextCursor != "") {
			t.Fatalf("a part of %d bytes, truncated %v, then %q", len(a.Content), a.Truncated, a.NextCursor)
		}
		parts++
		if cursor = a.NextCursor; cursor == "" {
			break
		}
	}
	if want := page.String() + "1"; whole.String() != want || parts < 20 || visits != 1 {
		t.Errorf("%d parts of %d visits make %d bytes of %d", parts, visits, whole.Len(), len(want))
	}
}

func TestThePartsOfAnAgentAreNamedByTheFragment(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, strings.Repeat("line\n", 100))
	})
	c := start(t, s, "--max-answer-bytes", "300", "--vocabulary", "agent")
	r := c.Call("web_fetch", map[string]any{"url": s.URL + "/x"})
	next := regexp.MustCompile(`続き: (\S+)）`).FindStringSubmatch(r.Text)
	if next == nil || strings.Count(r.Text, "line\n") != 60 {
		t.Fatal(r.Text)
	}
	r = c.Call("web_fetch", map[string]any{"url": next[1]})
	if r.IsError || strings.Count(r.Text, "line\n") != 40 || strings.Contains(r.Text, "続き") {
		t.Error(r.Text)
	}
}

func TestAPartOfAPageThatChangedIsRefused(t *testing.T) {
	text := "one"
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(text+" ", 500)) })
	first := start(t, s, "--max-answer-bytes", "300")
	cursor := fetched(t, first, s.URL, "").NextCursor
	text = "two"
	other := start(t, s, "--max-answer-bytes", "300") // which has not seen the first part
	r := other.Call("web_fetch", map[string]any{"url": s.URL, "cursor": cursor})
	if r.Code != "RESOURCE_004" {
		t.Error(r.Text)
	}
	for _, cursor := range []string{"x", "-1-0123456789ab", "5", "5-short", "99999999999999999999-0123456789ab"} {
		if r := other.Call("web_fetch", map[string]any{"url": s.URL, "cursor": cursor}); r.Code != "PARAM_003" {
			t.Errorf("%q: %s", cursor, r.Text)
		}
	}
}

func TestEveryFailureHasItsCode(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG\r\n\x1a\n\x00\x00")
		case "/unnamed":
			w.Header().Set("Content-Type", "")
			fmt.Fprint(w, "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
		case "/lie":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00")
		case "/large":
			fmt.Fprint(w, strings.Repeat("a", 3000))
		case "/slow":
			<-r.Context().Done()
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/out":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	c := start(t, s, "--max-page-bytes", "2000", "--timeout", "300ms")
	for path, want := range map[string]string{
		"/png": "SECURITY_003", "/unnamed": "SECURITY_003", "/lie": "SECURITY_003", "/large": "RESOURCE_005", "/slow": "EXECUTION_002",
		"/loop": "RESOURCE_005", "/out": "SECURITY_002", "/none": "RESOURCE_003",
	} {
		if r := c.Call("web_fetch", map[string]any{"url": s.URL + path}); r.Code != want {
			t.Errorf("%s: %s, want %s", path, r.Text, want)
		}
	}
	if r := c.Call("web_fetch", map[string]any{"url": s.URL + "/png"}); !strings.Contains(r.Text, "image/png") {
		t.Errorf("the type is not named: %s", r.Text)
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
	var events []struct {
		Tool, Verdict, Rule, Cause string
		Paths                      []string
	}
	for line := range strings.Lines(string(b)) {
		events = append(events, struct {
			Tool, Verdict, Rule, Cause string
			Paths                      []string
		}{})
		if err := json.Unmarshal([]byte(line), &events[len(events)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if len(events) != 2 || len(events[0].Paths) != 1 || events[0].Paths[0] != s.address() || events[1].Verdict != "deny" || events[1].Rule != "address" || !strings.Contains(events[1].Cause, "10.0.0.1:80") {
		t.Errorf("%s", b)
	}
	if strings.Contains(string(b), "hunter2") || strings.Contains(string(b), "harbour") {
		t.Errorf("a credential or the page stands in the log: %s", b)
	}
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	for _, flags := range [][]string{
		{"--allow-address", "localhost"}, {"--allow-address", "10.0.0.0/33"}, {"--allow-port", "0"}, {"--allow-port", "http"}, {"--allow-port", "70000"},
		{"--max-page-bytes", "0"}, {"--max-redirects", "99"}, {"--allow-path", "/"}, {"--vocabulary", "none"},
	} {
		out, err := exec.Command("web-fetch", append([]string{"tools"}, flags...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "SYSTEM_003") {
			t.Errorf("%v: %s", flags, out)
		}
	}
}

func TestDoctorSaysWhatMayBeReached(t *testing.T) {
	doctor := exec.Command("web-fetch", "doctor", "--audit-log", "off", "--allow-address", "10.0.0.0/8", "--only-host", "*.example.com", "--allow-port", "8443")
	doctor.Env = append(os.Environ(), "HTTPS_PROXY=http://proxy.example:3128")
	doctor.Dir = "/" // it allows no directory, so that one is as good as another
	out, err := doctor.CombinedOutput()
	for _, want := range []string{"*.example.com", "10.0.0.0/8", "8443", "proxy"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not there", want)
		}
	}
	if err != nil || strings.Contains(string(out), "directory") {
		t.Errorf("%v: %s", err, out)
	}
}
