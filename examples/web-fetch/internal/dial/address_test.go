package dial

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestNothingButPublicAddressesIsConnectedTo(t *testing.T) {
	g := New(Options{})
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.170.2",
		"168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
		"198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::169.254.169.254",
		"64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1",
		"2001:db8::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:808:808::1", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254",
		"fe80::1", "fe80::1%lo", "fec0::1", "ff02::1",
	} {
		at := net.JoinHostPort(address, "80")
		got, err := g.address("tcp", at)
		is(t, at, err, fault.OutsideAllowed)
		if got != (Address{}) {
			t.Errorf("%s: an address comes with the refusal", at)
		}
		if err != nil && strings.Contains(err.Error(), address) {
			t.Errorf("%s is told to the client: %v", address, err)
		}
	}
	for _, at := range []string{
		"1.1.1.1:80", "8.8.8.8:443", "9.255.255.255:80", "11.0.0.0:80", "100.63.255.255:80", "100.128.0.0:80", "128.0.0.1:80", "172.15.255.255:80",
		"172.32.0.0:80", "192.0.1.1:80", "198.17.255.255:80", "198.20.0.0:80", "223.255.255.255:80",
		"[2606:4700::1111]:443", "[2a00:1450:4001::5e]:80", "[2001:200::1]:80", "[64:ff9b::8.8.8.8]:80",
	} {
		if got, err := g.address("tcp6", at); err != nil || got == (Address{}) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestOnlyOpenedPortsAreConnectedTo(t *testing.T) {
	g := New(Options{Ports: []uint16{8443}})
	for port, want := range map[string]fault.Code{"80": "", "443": "", "8443": "", "22": fault.OutsideAllowed, "25": fault.OutsideAllowed, "6379": fault.OutsideAllowed, "0": fault.OutsideAllowed} {
		_, err := g.address("tcp4", "8.8.8.8:"+port)
		is(t, "port "+port, err, want)
	}
}

func TestAnOpeningOpensWhatItSaysAndNoMore(t *testing.T) {
	for _, c := range []struct {
		opening, at string
		open        bool
	}{
		{"10.1.0.0/16", "10.1.2.3:80", true},
		{"10.1.0.0/16", "10.2.0.1:80", false},
		{"10.1.0.0/16", "10.1.2.3:8080", false},
		{"10.1.2.3/16", "10.1.9.9:443", true},
		{"10.1.2.3", "10.1.2.3:443", true},
		{"10.1.2.3", "10.1.2.4:443", false},
		{"10.1.2.3:8080", "10.1.2.3:8080", true},
		{"10.1.2.3:8080", "10.1.2.3:80", false},
		{"10.1.2.3:8080", "10.1.2.4:8080", false},
		{"127.0.0.1", "[::1]:80", false},
		{"127.0.0.1", "[::ffff:127.0.0.1]:80", false},
		{"[::1]:8080", "[::1]:8080", true},
		{"fd00::/8", "[fd12::1]:80", true},
		{"0.0.0.0/0", "[fd12::1]:80", false},
	} {
		o, ok := ParseOpening(c.opening)
		if !ok {
			t.Errorf("%s is not taken", c.opening)
		}
		if _, err := New(Options{Open: []Opening{o}}).address("tcp", c.at); (err == nil) != c.open {
			t.Errorf("%s for %s: %v", c.opening, c.at, err)
		}
	}
	for _, word := range []string{"", "10.1", "10.1.2.3/33", "10.1.2.3:0", "10.1.2.3:99999", "fe80::1%eth0", "[fe80::1%eth0]:80", "localhost", "example.com:80", "*"} {
		if o, ok := ParseOpening(word); ok {
			t.Errorf("%q is taken for %v", word, o)
		}
	}
}

func TestTheAddressesOfThisMachineAreRefusedThoughTheyArePublic(t *testing.T) {
	g := New(Options{})
	g.own = func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("8.8.4.4"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("2606:4700::1"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	for at, want := range map[string]fault.Code{"8.8.4.4:80": fault.OutsideAllowed, "[2606:4700::1]:80": fault.OutsideAllowed, "8.8.4.5:80": "", "[2606:4700::2]:80": ""} {
		_, err := g.address("tcp", at)
		is(t, at, err, want)
	}
	g.own = func() ([]net.Addr, error) { return nil, errors.New("no netlink") }
	_, err := g.address("tcp", "8.8.8.8:80")
	is(t, "where they cannot be told", err, fault.Unavailable)
}

func TestTheZeroValuesRefuse(t *testing.T) {
	var g Guard
	_, err := g.address("tcp", "8.8.8.8:80")
	is(t, "a zero Guard connecting", err, fault.OutsideAllowed)
	_, err = g.Parse("https://example.com")
	is(t, "a zero Guard parsing", err, fault.OutsideAllowed)
	_, err = g.Get(t.Context(), Request{})
	is(t, "a zero Guard getting", err, fault.OutsideAllowed)
	_, err = New(Options{}).Get(t.Context(), Request{})
	is(t, "a zero URL", err, fault.OutsideAllowed)
	if (URL{}).String() != "" || (URL{}).Base() != nil || (Address{}).String() != "" || (Opening{}).holds(netip.MustParseAddrPort("1.1.1.1:80"), nil) {
		t.Error("a zero value is something")
	}
}
