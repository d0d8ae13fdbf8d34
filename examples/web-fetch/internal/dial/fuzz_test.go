package dial

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// The property: a URL that is taken has one of the two schemes, no user, a port that is open,
// one spelling, and a host that is a name or a public address.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a?b#c", "http://127.0.0.1", "http://[::1]:80/", "http://2130706433/", "http://１２７.１", "http://a@b", `http:\\x`,
		"http://[fe80::1%25lo]/", "//x", "http://0x7f.1", "http://[::ffff:1.2.3.4]", "https://例え.テスト", "http://a.0", "http://1.1.1.1:0443/",
	} {
		f.Add(seed)
	}
	g := New(Options{})
	f.Fuzz(func(t *testing.T, word string) {
		u, err := g.Parse(word)
		if err != nil {
			return
		}
		got, err := url.Parse(u.String())
		if err != nil || got.User != nil || got.Fragment != "" || got.Scheme != "http" && got.Scheme != "https" {
			t.Fatalf("%q is taken as %s (%v)", word, u, err)
		}
		if p := got.Port(); p != "" && p != "80" && p != "443" {
			t.Fatalf("%q has the port %s", word, p)
		}
		if again, err := g.Parse(u.String()); err != nil || again.String() != u.String() {
			t.Fatalf("%q is %s, and that is %s (%v)", word, u, again, err)
		}
		if a, err := netip.ParseAddr(got.Hostname()); err == nil && !isPublic(a) {
			t.Fatalf("%q leads to %s", word, a)
		}
		if host := got.Hostname(); strings.Trim(host, "0123456789.") == "" && strings.Count(host, ".") != 3 {
			t.Fatalf("%q has the host %s", word, host)
		}
	})
}

// The property: an address that is connected to is public by another account of what that is.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"\x7f\x00\x00\x01", "\x08\x08\x08\x08", "\xa9\xfe\xa9\xfe", string(net.IPv6loopback), string(net.ParseIP("64:ff9b::7f00:1")), string(net.ParseIP("2002:7f00:1::"))} {
		f.Add([]byte(seed), uint16(80))
	}
	g := New(Options{})
	f.Fuzz(func(t *testing.T, raw []byte, port uint16) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		at, err := g.address("tcp", net.JoinHostPort(a.String(), strconv.Itoa(int(port))))
		if err == nil && (!isPublic(a) || port != 80 && port != 443) {
			t.Fatalf("%s is connected to", at)
		}
	})
}

// isPublic is what the standard library knows of addresses, and the embedded ones.
func isPublic(a netip.Addr) bool {
	if a.Is6() {
		b := a.As16()
		switch {
		case string(b[:12]) == "\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00":
			return isPublic(netip.AddrFrom4([4]byte(b[12:])))
		case b[0]>>5 != 1, b[0] == 0x20 && b[1] == 0x02, b[0] == 0x20 && b[1] == 0x01 && b[2] < 2:
			return false
		}
	} else if b := a.As4(); b[0] == 0 || b[0] >= 224 || b[0] == 100 && b[1]>>6 == 1 {
		return false
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsMulticast() && a.Zone() == ""
}
