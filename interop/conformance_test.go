package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/transport"
)

// The official conformance suite of MCP speaks HTTP with a server. What a server does not
// conform in stands in this file, with the reason, and nothing else may fail; a line of
// which nothing fails fails too, so that the file only shrinks.
const expectedFailures = "testdata/conformance.txt"

func TestWhatIsMadeOfOurPackagesConforms(t *testing.T) {
	for _, era := range mcptest.Eras() {
		t.Run(version(era), func(t *testing.T) {
			t.Parallel()
			judge(t, "fixture", era, suite(t, serveFixture(t), era))
		})
	}
}

// ofAnyServer are the scenarios that need no tools and no resources of certain names.
var ofAnyServer = []string{
	"caching", "completion-complete", "dns-rebinding-protection", "http-header-validation",
	"input-required-result-unsupported-methods", "ping", "resources-list", "sep-2164-resource-not-found",
	"server-initialize", "server-session-lifecycle", "server-sse-multiple-streams", "server-sse-polling",
	"server-stateless", "tools-list",
}

func TestTheServersConform(t *testing.T) {
	for _, program := range []string{"file-read", "file-write", "shell-exec"} {
		for _, era := range mcptest.Eras() {
			t.Run(program+" "+version(era), func(t *testing.T) {
				t.Parallel()
				all := suite(t, listening(t, program), era)
				all = slices.DeleteFunc(all, func(v verdict) bool { return !slices.Contains(ofAnyServer, v.scenario) })
				judge(t, program, era, all)
			})
		}
	}
}

// serveFixture is the address of a server with all that the suite asks for and toolkit offers.
func serveFixture(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	door, err := transport.OpenHTTP(ctx, transport.HTTPSettings{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- door.Serve(ctx, fixture(t), transport.HTTPOptions{Name: "fixture"}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return door.URL()
}

// listening is the address of one of our servers, which runs until the test ends.
func listening(t *testing.T, program string) string {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	line := server(program, mcptest.Tree(t, "a.txt=a"), "--transport", "http", "--listen", "127.0.0.1:0", "--token-file", tokens)
	at, _ := mcptest.Listening(t, exec.Command(line[0], line[1:]...))
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return withToken(t, to)
}

const token = "a-token-that-is-long-enough-for-a-test-0123456789"

// withToken is the address of what adds the token to every request, for the suite has none.
// Everything else stays as it is.
func withToken(t *testing.T, to *url.URL) string {
	t.Helper()
	between := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
			// Whole: where the answer comes before the end of a body is read, which is
			// closed then, the proxy takes that for a connection that is broken.
			body, _ := io.ReadAll(r.In.Body)
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(between.Close)
	return between.URL + to.Path
}

// verdict is what the suite says of one thing that it looked at.
type verdict struct {
	scenario     string
	ID, Status   string
	ErrorMessage string
}

func (v verdict) String() string { return v.scenario + ":" + v.ID }

func (v verdict) failed() bool { return v.Status == "FAILURE" || v.Status == "WARNING" }

// suite runs all of the suite against an address.
func suite(t *testing.T, url string, era mcptest.Era) (all []verdict) {
	t.Helper()
	out := t.TempDir()
	line := onNode(t, "conformance", "server", "--url", url, "--suite", "all", "--spec-version", version(era), "--output-dir", out)
	said, _ := output(t, line) // it ends with 1 when something fails, which is for us to judge
	files, _ := filepath.Glob(filepath.Join(out, "server-*", "checks.json"))
	if len(files) == 0 {
		t.Fatalf("the suite has no results:\n%s", said)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var found []verdict
		if err := json.Unmarshal(text, &found); err != nil {
			t.Fatal(err)
		}
		scenario := dated.ReplaceAllString(filepath.Base(filepath.Dir(file)), "")
		for i := range found {
			found[i].scenario = strings.TrimPrefix(scenario, "server-")
		}
		all = append(all, found...)
	}
	return all
}

// dated is how the suite ends the names of the directories of its results.
var dated = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\dZ]+$`)

// judge holds what the suite says against what is expected to fail.
func judge(t *testing.T, who string, era mcptest.Era, all []verdict) {
	t.Helper()
	expected := expectedOf(t, who, version(era))
	passed := 0
	for _, v := range all {
		name := v.String()
		switch _, known := expected[name]; {
		case v.failed() && known:
			expected[name] = true
		case v.failed():
			t.Errorf("%s %s: %s", v.Status, name, v.ErrorMessage)
		case v.Status == "SUCCESS":
			passed++
		}
	}
	for name, failed := range expected {
		if !failed {
			t.Errorf("%s does not fail: take it out of %s", name, expectedFailures)
		}
	}
	if passed == 0 {
		t.Error("the suite looked at nothing")
	}
}

// expectedOf reads what is expected to fail of a server in a revision of the protocol.
func expectedOf(t *testing.T, who, revision string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(expectedFailures)
	if err != nil {
		t.Fatal(err)
	}
	names, reason := map[string]bool{}, ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			reason = ""
		case line[0] != '\t':
			reason += line
		case len(words) != 3 || reason == "":
			t.Fatalf("%s: %q is not a server, a revision and a check beneath a reason", expectedFailures, line)
		case concerns(words[0], who) && (words[1] == revision || words[1] == "both"):
			names[words[2]] = false
		}
	}
	return names
}

// concerns says whether a line is about a server.
func concerns(named, who string) bool {
	return named == who || named == "all" || named == "servers" && who != "fixture"
}
