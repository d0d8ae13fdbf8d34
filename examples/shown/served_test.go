package shown

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// token is what clients of the servers of a test show.
const token = "0123456789abcdef0123456789abcdef"

// secrets puts a token and a certificate where a cluster mounts them. The certificate is
// the one that net/http/httptest has: no client here asks whose it is.
func (w fixture) secrets(t *testing.T) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	w.secret(t, "token/token", []byte(token+"\n"))
	w.secret(t, "tls/tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))
	w.secret(t, "tls/tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// secret writes a file that nobody else can read.
func (w fixture) secret(t *testing.T, name string, content []byte) {
	t.Helper()
	file := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o400); err != nil {
		t.Fatal(err)
	}
}

// answers starts a server with a command line in which it listens on port 0, and asks it
// there by the name of url: for its health, without a token, and for its tools.
func (w fixture) answers(t *testing.T, server string, args []string, url string) {
	t.Helper()
	cmd := exec.Command(w.at(you+"/bin/"+server), args...)
	cmd.Env, cmd.Dir = append(w.environ(), "XDG_STATE_HOME="+w.home+"/state"), w.home
	at, _ := mcptest.Listening(t, cmd)
	c := clientTo(t, at)
	if code, _ := ask(t, c, http.MethodGet, url+"/healthz", "", ""); code != http.StatusOK {
		t.Errorf("its health is %d", code)
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if code, _ := ask(t, c, http.MethodPost, url+"/mcp", "", list); code != http.StatusUnauthorized {
		t.Errorf("without a token it answers %d", code)
	}
	if code, body := ask(t, c, http.MethodPost, url+"/mcp", token, list); code != http.StatusOK || !strings.Contains(body, "inputSchema") {
		t.Errorf("with a token it answers %d %s", code, body)
	}
}

// clientTo reaches the server at one URL, whatever name is asked for. Whose certificate it
// is does not matter here.
func clientTo(t *testing.T, at string) *http.Client {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, u.Host)
		},
	}}
}

// ask sends one request and gives the status and the body of its answer.
func ask(t *testing.T, c *http.Client, method, url, token, body string) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/list")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}
