package telemetry

import (
	"net/url"
	"slices"
	"testing"
)

func TestTheUsualPortOfAProxyIsKept(t *testing.T) {
	for scheme, want := range map[string]uint16{"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080} {
		c := Collector{proxy: &url.URL{Scheme: scheme, Host: "127.0.0.1"}}
		if got := c.Ports(); !slices.Equal(got, []uint16{want}) {
			t.Errorf("a proxy of %s takes the ports %v, want %d", scheme, got, want)
		}
	}
}
