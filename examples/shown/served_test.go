package shown

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// token is what clients of the servers of a test show.
const token = "0123456789abcdef0123456789abcdef"

// secrets puts a token and a certificate for a name where a cluster mounts them.
func (w world) secrets(t *testing.T, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	w.secret(t, "token/token", []byte(token+"\n"))
	w.secret(t, "tls/tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	w.secret(t, "tls/tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// secret writes a file that nobody else can read.
func (w world) secret(t *testing.T, name string, content []byte) {
	t.Helper()
	file := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o400); err != nil {
		t.Fatal(err)
	}
}

// freePort is an address of this machine that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it is only asked for its address
	return l.Addr().String()
}

// answers starts a server with a command line that has --listen in it, and asks it at
// that address by the name of url: for its health, without a token, and for its tools.
func (w world) answers(t *testing.T, server string, args []string, url string) {
	t.Helper()
	cmd := exec.Command(w.at(you+"/bin/"+server), args...)
	var errors bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = append(w.environ(), "XDG_STATE_HOME="+w.home+"/state"), w.home, &errors
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // one that has ended says so below
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v\n%s", server, err, errors.String())
		}
	})
	c := clientTo(listening(t, args))
	if code, _ := ask(c, http.MethodGet, url+"/healthz", "", ""); code != http.StatusOK {
		t.Errorf("its health is %d\n%s", code, errors.String())
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if code, _ := ask(c, http.MethodPost, url+"/mcp", "", list); code != http.StatusUnauthorized {
		t.Errorf("without a token it answers %d", code)
	}
	if code, body := ask(c, http.MethodPost, url+"/mcp", token, list); code != http.StatusOK || !strings.Contains(body, "inputSchema") {
		t.Errorf("with a token it answers %d %s\n%s", code, body, errors.String())
	}
}

// listening is the address in a command line.
func listening(t *testing.T, args []string) string {
	t.Helper()
	for i, word := range args {
		if address, ok := strings.CutPrefix(word, "--listen="); ok {
			return address
		}
		if word == "--listen" && i+1 < len(args) {
			return args[i+1]
		}
	}
	t.Fatalf("it listens nowhere: %q", args)
	return ""
}

// clientTo reaches one address, whatever name is asked for. Whose certificate it is does
// not matter here.
func clientTo(address string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	}}
}

// ask asks until somebody answers; 0 is that nobody does.
func ask(c *http.Client, method, url, token, body string) (code int, text string) {
	for range 600 {
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			return 0, err.Error()
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
			text = err.Error()
			time.Sleep(50 * time.Millisecond) // it is still opening its files
			continue
		}
		b, err := io.ReadAll(answer.Body)
		answer.Body.Close() //nolint:errcheck // read to its end
		if err != nil {
			return 0, err.Error()
		}
		return answer.StatusCode, string(b)
	}
	return 0, text
}
