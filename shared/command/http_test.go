//go:build unix

package command_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
)

const token = "0123456789abcdef0123456789abcdef"

// tokens is a file of one client, outside of what is allowed.
func tokens(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(file, []byte("ci "+token+"\n"), 0o600))
	return file
}

func calling(tool, args string) string {
	return `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

func TestARestrictedServerAnswersOverHTTP(t *testing.T) {
	if !restrict.Probe().Holds() {
		t.Skip("this machine cannot restrict a process")
	}
	outside := filepath.Join(t.TempDir(), "outside")
	c := server(t, "--restrict", "required", "--transport", "http", "--listen", "127.0.0.1:0", "--token-file", tokens(t))
	url, _ := mcptest.Listening(t, c)
	for range 3 { // connections of their own
		http.DefaultClient.CloseIdleConnections()
		if status, body := mcptest.Post(t, url, token, calling("greet", `{"name":"Ada"}`)); status != 200 || !strings.Contains(body, "hello Ada") {
			t.Fatalf("%d %s", status, body)
		}
	}
	if status, body := mcptest.Post(t, url, "", calling("greet", `{"name":"Ada"}`)); status != 401 || !strings.Contains(body, "AUTH_001") {
		t.Errorf("without a token: %d %s", status, body)
	}
	if _, body := mcptest.Post(t, url, token, calling("keep", `{"file":"`+outside+`"}`)); !strings.Contains(body, `"isError":true`) {
		t.Errorf("writing outside is answered with %s", body)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the restricted server wrote outside")
	}
	log, err := os.ReadFile(filepath.Join(strings.TrimPrefix(c.Env[1], "HOME="), ".local/state/mcp-server/audit/fake-server.jsonl"))
	must(t, err)
	if n := strings.Count(string(log), `"session":"http:ci@127.0.0.1"`); n != 5 { // the begin of keep as well
		t.Errorf("%d events name the client:\n%s", n, log)
	}
}

func TestWhatStopsAServerOverHTTP(t *testing.T) {
	w := newFixture(t)
	w.restrict = holds
	must(t, os.WriteFile(filepath.Join(w.dir, "tokens"), []byte(token+"\n"), 0o600))
	must(t, os.Symlink(w.dir, filepath.Join(w.state, "link")))
	for _, c := range []struct {
		what string
		runs bool
		args []string
		says []string
	}{
		{"tokens that a model can read", false, []string{"--token-file", "tokens"}, []string{"token-file (flag --token-file)", "a model can read it"}},
		{"the same by a link", false, []string{"--token-file", filepath.Join(w.state, "link", "tokens")}, []string{"a model can read it"}},
		{"a key that a model can read", false, []string{"--tls-key", "key.pem"}, []string{"tls-key", "a model can read it"}},
		{"commands that could call it", true, nil, []string{"the commands that this server runs"}},
		{"tokens that commands can read", true, []string{"--token-file", "/etc/hostname"}, []string{"beneath /etc", "a model can read it"}},
		{"no tokens for others", false, []string{"--listen", "0.0.0.0:0"}, []string{"no token"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w.program = fake()
			if c.runs {
				w.program.Runs, w.program.Readable = true, readable
			}
			contains(t, "stderr", w.must(t, 2, append([]string{"--transport", "http"}, c.args...)...).errors, append(c.says, "SYSTEM_003")...)
		})
	}
}

func TestAServerWithoutPathsIsServedOverHTTPToo(t *testing.T) {
	w := newFixture(t)
	w.program.Pathless = true
	w.program.Open = func(context.Context, *settings.Set, command.Own) (*command.Service, error) {
		return &command.Service{Vocabularies: vocabularies}, nil
	}
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "none", "--restrict", "off", "--transport", "http", "--token-file", tokens(t)).out, "only this machine reaches")
}

func TestDoctorSaysWhoCanCallAndHow(t *testing.T) {
	for _, c := range []struct {
		what string
		runs bool
		code int
		args []string
		says []string
	}{
		{"this machine, anybody", false, 0, nil, []string{"127.0.0.1:8080, which only this machine reaches", "every user of this machine can call"}},
		{"this machine, with a token", false, 0, []string{"--token-file", tokens(t)}, []string{"1 client can call, each with a token: ci"}},
		{"other machines, behind an ingress", false, 0, []string{"--listen", ":8443", "--token-file", tokens(t), "--behind-tls", "--allow-host", "files.example"}, []string{"other machines may reach", "files.example", "ends before this server"}},
		{"other machines, in the clear", false, 1, []string{"--listen", ":8443", "--token-file", tokens(t)}, []string{"in the clear", "--behind-tls"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newFixture(t)
			w.restrict = holds
			contains(t, "doctor", w.must(t, c.code, append([]string{"doctor", "--host", "none", "--restrict", "off", "--transport", "http"}, c.args...)...).out, c.says...)
		})
	}
}
