package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// certificate is a pair of files for this machine's names.
func certificate(t testing.TB) (cert, key string, authority *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority = x509.NewCertPool()
	authority.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return cert, key, authority
}

func TestWhatStopsAStart(t *testing.T) {
	cert, key, _ := certificate(t)
	other, _, _ := certificate(t)
	tokens := tokenFile(t, secret)
	const local = "127.0.0.1:0"
	for _, c := range []struct {
		what string
		s    HTTPSettings
		says string // "" for nothing stops it
	}{
		{"other machines reach it, without a token", HTTPSettings{Listen: "0.0.0.0:0"}, "no token is asked for"},
		{"every address, without a token", HTTPSettings{Listen: ":0"}, "no token is asked for"},
		{"a name that may be anything, without a token", HTTPSettings{Listen: "files.example:0"}, "no token is asked for"},
		{"other machines reach it in the clear", HTTPSettings{Listen: ":0", TokenFile: tokens}, "in the clear"},
		{"without a token, though TLS ends before it", HTTPSettings{Listen: ":0", BehindTLS: true}, "no token is asked for"},
		{"behind what ends TLS", HTTPSettings{Listen: ":0", TokenFile: tokens, BehindTLS: true}, ""},
		{"with TLS", HTTPSettings{Listen: ":0", TokenFile: tokens, CertFile: cert, KeyFile: key}, ""},
		{"TLS twice", HTTPSettings{Listen: ":0", TokenFile: tokens, CertFile: cert, KeyFile: key, BehindTLS: true}, "before here"},
		{"only this machine, without a token", HTTPSettings{Listen: local}, ""},
		{"this machine in its other form", HTTPSettings{Listen: "[::ffff:127.0.0.1]:0"}, ""},
		{"no port", HTTPSettings{Listen: "127.0.0.1"}, "HOST:PORT"},
		{"a port that is none", HTTPSettings{Listen: "127.0.0.1:http"}, "HOST:PORT"},
		{"a port beyond all", HTTPSettings{Listen: "127.0.0.1:65536"}, "HOST:PORT"},
		{"a certificate without its key", HTTPSettings{Listen: local, CertFile: cert}, "both"},
		{"a key of another certificate", HTTPSettings{Listen: local, CertFile: other, KeyFile: key}, "pair"},
		{"a certificate that is not there", HTTPSettings{Listen: local, CertFile: cert + "x", KeyFile: key}, "--tls-cert"},
		{"an origin with a path", HTTPSettings{Listen: local, Origins: []string{"https://a.example/b"}}, "origin"},
		{"an origin that is any", HTTPSettings{Listen: local, Origins: []string{"*"}}, "origin"},
		{"a file of tokens that is not there", HTTPSettings{Listen: local, TokenFile: tokens + "x"}, "cannot be read"},
		{"a directory of tokens", HTTPSettings{Listen: local, TokenFile: filepath.Dir(tokens)}, "no regular file"},
	} {
		t.Run(c.what, func(t *testing.T) {
			d, err := OpenHTTP(t.Context(), c.s)
			if d != nil {
				defer d.Close()
			}
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAnAddressThatIsTakenIsToldSo(t *testing.T) {
	d, err := OpenHTTP(t.Context(), HTTPSettings{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := OpenHTTP(t.Context(), HTTPSettings{Listen: d.listener.Addr().String()}); !errors.Is(err, fault.Misconfigured) || !strings.Contains(err.Error(), "--listen") {
		t.Error(err)
	}
}

func TestTokensAreReadAsTheyAreMeantOrNotAtAll(t *testing.T) {
	other := strings.Repeat("f", 32)
	for _, c := range []struct {
		what  string
		lines []string
		names string // "" for refused
	}{
		{"a token", []string{secret}, "token-1"},
		{"a name and a token", []string{"ci " + secret}, "ci"},
		{"both, with remarks and room", []string{"# two clients", "", "ci\t" + secret, "  " + other + "\r"}, "ci token-2"},
		{"a token of the other alphabet", []string{"A-._~+/" + secret + "=="}, "token-1"},
		{"nothing", nil, ""},
		{"remarks alone", []string{"# none yet"}, ""},
		{"a token that is short", []string{secret[:31]}, ""},
		{"a token that is long", []string{strings.Repeat("a", 513)}, ""},
		{"a token with a character that is none", []string{secret + "!"}, ""},
		{"three words", []string{"ci " + secret + " " + other}, ""},
		{"a name that could forge a line", []string{"a\x1b[2J " + secret}, ""},
		{"one name twice", []string{"ci " + secret, "ci " + other}, ""},
		{"one token twice", []string{"a " + secret, "b " + secret}, ""},
		{"more than there can be", []string{strings.Repeat(strings.Repeat("#", 100)+"\n", 11_000)}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			all, err := readTokens(tokenFile(t, c.lines...))
			var names []string
			for _, one := range all {
				names = append(names, one.name)
			}
			if got := strings.Join(names, " "); got != c.names || (err == nil) != (c.names != "") {
				t.Errorf("%q %v", got, err)
			}
			if err != nil && (strings.Contains(err.Error(), secret[:8]) || strings.Contains(err.Error(), other)) {
				t.Errorf("the error tells the token: %v", err)
			}
		})
	}
}

func TestSecretsThatOthersCanReadOrChangeAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	for mode, fine := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o644: false, 0o604: false, 0o660: false, 0o602: false, 0o777: false} {
		path := tokenFile(t, secret)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := readTokens(path); (err == nil) != fine {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("ci " + secret)
	f.Add("a b c")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, line string) {
		if len(strings.Fields(line)) == 0 {
			return
		}
		one, wrong := tokenOf(line, 1)
		if wrong != "" {
			return
		}
		fields := strings.Fields(line)
		given := fields[len(fields)-1]
		if found, ok := (tokens{one}).owner(given); !ok || found != one || len(given) < minToken {
			t.Errorf("%q is not its own token", line)
		}
		if _, ok := (tokens{one}).owner(given + "a"); ok {
			t.Errorf("%q has another token as well", line)
		}
	})
}
