package dial

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestURLsThatAreRefusedBeforeAnythingIsLookedUp(t *testing.T) {
	g := New(Options{})
	for _, c := range []struct {
		what, url string
		want      fault.Code
	}{
		{"nothing", "", fault.ParamMalformed},
		{"no scheme", "example.com/x", fault.ParamMalformed},
		{"no host", "http:///x", fault.ParamMalformed},
		{"no host, opaque", "http:example.com", fault.ParamMalformed},
		{"a control character", "http://example.com/\r\nHost: evil", fault.ParamMalformed},
		{"a space in the host", "http://exa mple.com/", fault.ParamMalformed},
		{"an empty label", "http://a..b/", fault.ParamMalformed},
		{"a label too long", "http://" + strings.Repeat("a", 64) + ".example/", fault.ParamMalformed},
		{"a URL too long", "http://example.com/" + strings.Repeat("a", 9000), fault.ParamMalformed},
		{"no port that can be", "http://example.com:99999/", fault.ParamMalformed},
		{"port 0", "http://example.com:0/", fault.ParamMalformed},
		{"a file", "file:///etc/passwd", fault.Forbidden},
		{"a file with a host", "file://localhost/etc/passwd", fault.Forbidden},
		{"gopher", "gopher://127.0.0.1:6379/_INFO", fault.Forbidden},
		{"ftp", "ftp://example.com/", fault.Forbidden},
		{"data", "data:text/html,x", fault.Forbidden},
		{"javascript", "javascript:alert(1)", fault.Forbidden},
		{"a user", "http://user@example.com/", fault.Forbidden},
		{"a user and a password", "https://user:secret@example.com/", fault.Forbidden},
		{"a host that looks like a user", "http://example.com@127.0.0.1/", fault.Forbidden},
		{"a backslash before an @", `http://example.com\@127.0.0.1/`, fault.ParamMalformed},
		{"backslashes for slashes", `http:\\127.0.0.1\`, fault.ParamMalformed},
		{"a port nobody opened", "http://example.com:22/", fault.OutsideAllowed},
		{"loopback", "http://127.0.0.1/", fault.OutsideAllowed},
		{"metadata", "http://169.254.169.254/latest/meta-data/", fault.OutsideAllowed},
		{"IPv6 loopback", "http://[::1]/", fault.OutsideAllowed},
		{"IPv6 mapped", "http://[::ffff:127.0.0.1]/", fault.OutsideAllowed},
		{"IPv6 mapped, in hexadecimal", "http://[::ffff:7f00:1]/", fault.OutsideAllowed},
		{"IPv6 in full", "http://[0:0:0:0:0:0:0:1]/", fault.OutsideAllowed},
		{"IPv6 with a zone", "http://[fe80::1%25eth0]/", fault.OutsideAllowed},
		{"IPv6 public with a zone", "http://[2606:4700::1%25eth0]/", fault.OutsideAllowed},
		{"IPv6 without brackets", "http://::1/", fault.ParamMalformed},
		{"brackets around a name", "http://[localhost]/", fault.ParamMalformed},
		{"something behind the brackets", "http://[::1].example.com/", fault.ParamMalformed},
		{"IPv4 decimal", "http://2130706433/", fault.Forbidden},
		{"IPv4 octal", "http://0177.0.0.1/", fault.Forbidden},
		{"IPv4 hexadecimal", "http://0x7f.0.0.1/", fault.Forbidden},
		{"IPv4 hexadecimal in one", "http://0x7f000001/", fault.Forbidden},
		{"IPv4 short", "http://127.1/", fault.Forbidden},
		{"IPv4 with a dot", "http://127.0.0.1./", fault.Forbidden},
		{"IPv4 with too many parts", "http://127.0.0.0.1/", fault.Forbidden},
		{"0x alone", "http://example.0x/", fault.Forbidden},
		{"IPv4 with wide digits", "http://１２７.０.０.１/", fault.OutsideAllowed},
		{"IPv4 with circled digits", "http://①②⑦.⓪.⓪.①/", fault.OutsideAllowed},
		{"IPv4 with ideographic stops", "http://127。0。0。1/", fault.OutsideAllowed},
		{"percent signs for a host", "http://%31%32%37.0.0.1/", fault.ParamMalformed},
		{"an encoded slash in the host", "http://example.com%2f@127.0.0.1/", fault.Forbidden},
		{"bidirectional characters in the host", "http://exa\u202emple.com/", fault.ParamMalformed},
	} {
		u, err := g.Parse(c.url)
		is(t, c.what+" "+c.url, err, c.want)
		if u != (URL{}) {
			t.Errorf("%s: a URL comes with the refusal", c.what)
		}
	}
}

func TestURLsHaveOneSpelling(t *testing.T) {
	g := New(Options{Ports: []uint16{8080}})
	for given, want := range map[string]string{
		"HTTPS://Example.COM":                     "https://example.com",
		"https://example.com:443/a?b=c#d":         "https://example.com/a?b=c",
		"http://example.com:0080/":                "http://example.com/",
		"http://example.com:8080/":                "http://example.com:8080/",
		"http://example.com./":                    "http://example.com./",
		"https://例え.テスト/パス?q=値":                   "https://xn--r8jz45g.xn--zckzah/%E3%83%91%E3%82%B9?q=%E5%80%A4",
		"https://bücher.example/":                 "https://xn--bcher-kva.example/",
		"https://xn--bcher-kva.example/":          "https://xn--bcher-kva.example/",
		"https://a_b.example/%2F?":                "https://a_b.example/%2F?",
		"https://[2606:4700:0:0:0:0:0:1111]:443/": "https://[2606:4700::1111]/",
		`http://example.com/a b?c d="e"&f=%20`:    "http://example.com/a%20b?c%20d=%22e%22&f=%20",
		"http://8.8.8.8/":                         "http://8.8.8.8/",
		"http://localhost/":                       "http://localhost/", // refused where it leads
	} {
		if u, err := g.Parse(given); err != nil || u.String() != want {
			t.Errorf("%s is %s, want %s (%v)", given, u, want, err)
		}
	}
}

func TestOnlyTheHostsOfTheListAreFetchedFrom(t *testing.T) {
	g := New(Options{Hosts: []string{"example.com", "*.Docs.example"}})
	for url, want := range map[string]fault.Code{
		"https://example.com/":                      "",
		"https://EXAMPLE.com./":                     "",
		"https://a.docs.example/":                   "",
		"https://a.b.docs.example/":                 "",
		"https://docs.example/":                     fault.OutsideAllowed,
		"https://www.example.com/":                  fault.OutsideAllowed,
		"https://example.com.evil.test/":            fault.OutsideAllowed,
		"https://evildocs.example/":                 fault.OutsideAllowed,
		"https://8.8.8.8/":                          fault.OutsideAllowed,
		"https://evil.test/?x=.docs.example":        fault.OutsideAllowed,
		"https://evil.test/#https://a.docs.example": fault.OutsideAllowed,
	} {
		_, err := g.Parse(url)
		is(t, url, err, want)
	}
}
