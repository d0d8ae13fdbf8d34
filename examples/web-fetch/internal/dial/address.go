package dial

import (
	"net/netip"
	"slices"
)

// special are the blocks that are no public web servers, by the IANA registries of
// special-purpose addresses (RFC 6890 and its updates), and the addresses at which
// clouds hand out credentials where these look public.
var special = []struct {
	block netip.Prefix
	why   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address behind a provider's translation"},
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata}, // Azure
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},  // and the metadata service of most clouds
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), protocol},
	{netip.MustParsePrefix("192.0.2.0/24"), documentation},
	{netip.MustParsePrefix("192.88.99.0/24"), embedding}, // relays of 6to4
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), documentation},
	{netip.MustParsePrefix("203.0.113.0/24"), documentation},
	{netip.MustParsePrefix("224.0.0.0/4"), multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"}, // and broadcast
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address of a local translation"},
	{netip.MustParsePrefix("2001::/23"), protocol}, // Teredo, benchmarks and ORCHID among them
	{netip.MustParsePrefix("2001:db8::/32"), documentation},
	{netip.MustParsePrefix("2002::/16"), embedding}, // 6to4
	{netip.MustParsePrefix("3fff::/20"), documentation},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("fec0::/10"), private},
	{netip.MustParsePrefix("ff00::/8"), multicast},
}

const (
	loopback      = "a loopback address"
	private       = "a private address"
	linkLocal     = "a link-local address"
	metadata      = "the metadata service of a cloud"
	multicast     = "a multicast address"
	documentation = "an address for documentation"
	protocol      = "an address for protocols"
	embedding     = "an IPv4 address within another one"
)

var (
	global6 = netip.MustParsePrefix("2000::/3")     // all that was ever given out (RFC 4291)
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // how a network without IPv4 reaches it (RFC 6052)
)

// reserved returns what an address is that is not public; empty: it is. Of an address that
// a NAT64 translates, the IPv4 address is checked; every other way to put one into an IPv6
// address is refused, whatever it holds.
func reserved(a netip.Addr) string {
	switch {
	case !a.IsValid(), a.IsUnspecified():
		return "an unspecified address"
	case a.Zone() != "":
		return linkLocal
	case a.Is4In6():
		return embedding
	case nat64.Contains(a):
		bytes := a.As16()
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, s := range special {
		if s.block.Contains(a) {
			return s.why
		}
	}
	if a.Is6() && !global6.Contains(a) {
		return "outside of what is public"
	}
	return ""
}

// Opening is what an operator lets through though it is not public: a block of
// addresses, or one address at one port. The zero Opening opens nothing.
type Opening struct {
	block netip.Prefix
	port  uint16 // 0: the ports of the Guard
}

// ParseOpening reads 10.0.0.0/8, 10.1.2.3, 10.1.2.3:8080 and [fd00::1]:8080.
func ParseOpening(word string) (Opening, bool) {
	if block, err := netip.ParsePrefix(word); err == nil {
		return Opening{block: block.Masked()}, true
	}
	if at, err := netip.ParseAddrPort(word); err == nil && at.Port() != 0 {
		return Opening{netip.PrefixFrom(at.Addr(), at.Addr().BitLen()), at.Port()}, at.Addr().Zone() == ""
	}
	a, err := netip.ParseAddr(word)
	return Opening{block: netip.PrefixFrom(a, a.BitLen())}, err == nil && a.Zone() == ""
}

func (o Opening) holds(at netip.AddrPort, ports []uint16) bool {
	if !o.block.Contains(at.Addr()) {
		return false
	}
	return o.port == at.Port() || o.port == 0 && slices.Contains(ports, at.Port())
}
