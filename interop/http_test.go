package interop

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// bearing sends the token along with every request.
type bearing struct{ with http.RoundTripper }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.with.RoundTrip(r)
}

func written(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// certificate makes a key and a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (cert, key string, authority *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "interop"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	authority = x509.NewCertPool()
	authority.AppendCertsFromPEM(text)
	dir := t.TempDir()
	return written(t, filepath.Join(dir, "cert.pem"), string(text)),
		written(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))), authority
}

// overHTTP connects to a server that listens.
func overHTTP(t *testing.T, at, version string, by http.RoundTripper, o mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &o)
	transport := &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: &http.Client{Transport: by}}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the session does not end well: %v", err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("the server speaks %s, not %s", got, version)
	}
	return session
}

// listen starts file-read over HTTP and returns its URL.
func listen(t *testing.T, root string, flags ...string) string {
	t.Helper()
	line := append([]string{"--allow-path", root, "--audit-required=false", "--transport", "http", "--listen", "127.0.0.1:0"}, flags...)
	at, _ := mcptest.Listening(t, exec.Command("file-read", line...))
	return at
}

func TestTheGoSDKCallsOverHTTP(t *testing.T) {
	root := manyFiles(t)
	cert, key, authority := certificate(t)
	tokens := written(t, filepath.Join(t.TempDir(), "tokens"), "ci "+token+"\n")
	for _, c := range []struct {
		what  string
		flags []string
		by    http.RoundTripper
	}{
		{"in the clear", nil, http.DefaultTransport},
		{"by TLS and HTTP 2", []string{"--tls-cert", cert, "--tls-key", key},
			&http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true}},
	} {
		for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(version+" "+c.what, func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "audit.jsonl")
				at := listen(t, root, append(c.flags, "--token-file", tokens, "--audit-log", log)...)
				news := make(chan struct{}, 1000)
				session := overHTTP(t, at, version, bearing{c.by}, mcp.ClientOptions{
					ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
						select {
						case news <- struct{}{}:
						default:
						}
					},
				})
				r, err := session.CallTool(t.Context(), search("mine"))
				if err != nil || r.IsError {
					t.Fatal(r, err)
				}
				<-news
				if event := lastEvent(t, log); event.Session != "http:ci@127.0.0.1" || event.Client != "interop 1" || event.Outcome != "ok" {
					t.Errorf("the call is recorded as %+v", event)
				}

				for len(news) > 0 {
					<-news
				}
				ctx, cancel := context.WithCancel(t.Context())
				go func() { <-news; cancel() }()
				if _, err := session.CallTool(ctx, search("mine")); err == nil {
					t.Error("the call was not cancelled")
				}
				if _, err := session.ListTools(t.Context(), nil); err != nil {
					t.Errorf("the server does not continue: %v", err)
				}
			})
		}
	}
}

func TestTheGoSDKTakesServersBehindABalancerForOne(t *testing.T) {
	root := mcptest.Tree(t, "a.txt=hello\n")
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			var hosts, logs []string
			for range 2 {
				log := filepath.Join(t.TempDir(), "audit.jsonl")
				at, err := url.Parse(listen(t, root, "--audit-log", log))
				if err != nil {
					t.Fatal(err)
				}
				hosts, logs = append(hosts, at.Host), append(logs, log)
			}
			var turn atomic.Int64
			balancer := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(&url.URL{Scheme: "http", Host: hosts[turn.Add(1)%2]})
				// Take a request whole before it is sent on: net/http's transport gives up a request whose answer
				// begins before it has seen the end of the body.
				body, _ := io.ReadAll(r.In.Body)
				r.Out.Body = io.NopCloser(bytes.NewReader(body))
			}})
			t.Cleanup(balancer.Close)
			session := overHTTP(t, balancer.URL+"/mcp", version, http.DefaultTransport, mcp.ClientOptions{})
			for range 6 {
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "file_read", Arguments: map[string]any{"path": "a.txt"}})
				if err != nil || r.IsError {
					t.Fatal(r, err)
				}
			}
			for _, log := range logs {
				if text, err := os.ReadFile(log); err != nil || strings.Count(string(text), `"tool":"file_read"`) < 2 {
					t.Errorf("of 6 calls one server had: %v\n%s", err, text)
				}
			}
		})
	}
}

func TestTheGoSDKAsksItsPerson(t *testing.T) {
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		for action, want := range map[string]bool{"accept": true, "decline": false} {
			t.Run(action, func(t *testing.T) {
				root := mcptest.Tree(t, "a.txt=hello\n")
				questions := 0
				session := connect(t, era, server("shell-exec", root), mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						questions++
						content := map[string]any{}
						schema, _ := r.Params.RequestedSchema.(map[string]any)
						properties, _ := schema["properties"].(map[string]any)
						for name := range properties {
							content[name] = true
						}
						if action != "accept" {
							content = nil
						}
						return &mcp.ElicitResult{Action: action, Content: content}, nil
					},
				})
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "shell_execute", Arguments: map[string]any{"command": "rm -rf *"}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join(root, "a.txt")); questions != 1 || os.IsNotExist(err) != want {
					t.Errorf("after %d questions: %v %v", questions, err, r.StructuredContent)
				}
			})
		}
	})
}
