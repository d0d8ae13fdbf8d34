package dial

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// maxURL is the bytes of a URL.
const maxURL = 8 << 10

// URL is one that may be asked for, as far as is known before its name is
// resolved: only a Guard makes one. It is absolute, with its host in lower case and
// ASCII, and without a fragment.
type URL struct{ u *url.URL }

// String is the URL; empty for none.
func (u URL) String() string {
	if u.u == nil {
		return ""
	}
	return u.u.String()
}

// Base is a copy, for links to be absolute.
func (u URL) Base() *url.URL {
	if u.u == nil {
		return nil
	}
	c := *u.u
	return &c
}

// Parse reads a URL that somebody wrote.
func (g *Guard) Parse(word string) (URL, error) {
	if len(word) > maxURL {
		return URL{}, fault.New(fault.ParamMalformed, fmt.Sprintf("the URL has more than %d bytes", maxURL), "Use a shorter one")
	}
	u, err := url.Parse(word)
	if err != nil {
		return URL{}, malformed(word, err)
	}
	return g.admit(u, word)
}

// follow is where a redirect leads.
func (g *Guard) follow(from URL, location string) (URL, error) {
	if len(location) > maxURL {
		return URL{}, fault.New(fault.ParamMalformed, "the server redirects to a URL that is too long", "Use another page")
	}
	u, err := from.u.Parse(location)
	if err != nil {
		return URL{}, malformed(location, err)
	}
	return g.admit(u, location)
}

var standard = map[string]uint16{"http": 80, "https": 443}

// admit is the one place where a URL is made.
func (g *Guard) admit(u *url.URL, word string) (URL, error) {
	switch {
	case u.Scheme == "":
		return URL{}, fault.New(fault.ParamMalformed, "the URL has no scheme: "+shown(word), "Write it in full, as https://example.com/page")
	case u.Scheme != "http" && u.Scheme != "https":
		return URL{}, fault.New(fault.Forbidden, "only http and https are fetched, not "+shown(u.Scheme), "Use a URL that begins with https://")
	case u.User != nil:
		return URL{}, fault.New(fault.Forbidden, "the URL holds a user name or a password, or an @ that looks like it",
			"Leave out what stands before the @")
	case u.Opaque != "" || u.Host == "":
		return URL{}, malformed(word, nil)
	}
	host, err := hostOf(u.Hostname())
	if err != nil {
		return URL{}, err
	}
	port := standard[u.Scheme]
	if u.Port() != "" {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || n == 0 {
			return URL{}, fault.New(fault.ParamMalformed, "the URL has no valid port: "+shown(u.Port()),
				"Use a port from 1 to 65535, or none")
		}
		port = uint16(n)
	}
	if err := g.reaches(host, port); err != nil {
		return URL{}, err
	}

	var query strings.Builder // without what a query must not hold on the wire (RFC 3986, 3.4)
	for _, c := range []byte(u.RawQuery) {
		if c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>`{}|\\^", c) >= 0 {
			fmt.Fprintf(&query, "%%%02X", c)
		} else {
			query.WriteByte(c)
		}
	}
	c := &url.URL{Scheme: u.Scheme, Host: host, Path: u.Path, RawPath: u.RawPath, RawQuery: query.String(), ForceQuery: u.ForceQuery}
	if strings.Contains(host, ":") {
		c.Host = "[" + host + "]"
	}
	if u.Port() != "" && port != standard[u.Scheme] {
		c.Host += ":" + strconv.Itoa(int(port))
	}
	return URL{c}, nil
}

// reaches refuses early what is known before a name is resolved: an address is checked
// as it will be again when it is connected to.
func (g *Guard) reaches(host string, port uint16) error {
	name := strings.TrimSuffix(host, ".")
	covers := func(rule string) bool { // the host itself, or for *.example.com one in it
		rule = strings.ToLower(rule)
		if parent, ok := strings.CutPrefix(rule, "*"); ok {
			return strings.HasSuffix(name, parent) && len(name) > len(parent)
		}
		return rule == name
	}
	if g.hosts != nil && !slices.ContainsFunc(g.hosts, covers) {
		return fault.New(fault.OutsideAllowed, "the host "+host+" is not one of those that may be fetched from",
			"Use one of "+strings.Join(g.hosts, ", ")).With("hosts", g.hosts)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		_, err := g.address("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		return err
	}
	if !slices.Contains(g.ports, port) && !slices.ContainsFunc(g.open, func(o Opening) bool { return o.port == port }) {
		return forbiddenPort(port)
	}
	return nil
}

// hostOf is a host in the one spelling that every program reads alike: an address as
// netip writes it, or a name in ASCII. What a browser would take for an IPv4 address and
// another program for a name (127.1, 0x7f.1, 2130706433) is refused.
func hostOf(host string) (string, error) {
	bad := func(cause error) error {
		return fault.New(fault.ParamMalformed, "the URL has no valid host: "+shown(host),
			"Write it in full, as https://example.com/page").Because(cause)
	}
	ascii := strings.ToLower(host)
	a, failed := netip.ParseAddr(host)
	if failed != nil && strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(host); err != nil {
			return "", bad(err)
		}
		a, failed = netip.ParseAddr(ascii) // written with digits of another script
	}
	if failed == nil {
		if a.Zone() != "" {
			return "", forbidden(linkLocal, nil)
		}
		return a.String(), nil
	}

	name := strings.TrimSuffix(ascii, ".")
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if len(name) > 253 || l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", bad(nil)
		}
	}
	// The WHATWG URL Standard takes a host for an IPv4 address by its last label.
	last, digits := labels[len(labels)-1], "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = hex, "0123456789abcdef"
	}
	if strings.Trim(last, digits) == "" {
		return "", fault.New(fault.Forbidden, "the host is an IPv4 address in a spelling that programs read differently: "+shown(host),
			"Use the name of the site")
	}
	return ascii, nil
}

func malformed(word string, cause error) error {
	return fault.New(fault.ParamMalformed, "this is no URL: "+shown(word), "Write it in full, as https://example.com/page").Because(cause)
}

// shown is a client's or a server's own word, fit for a sentence.
func shown(word string) string { return strconv.Quote(text.Escape(text.Cut(word, 200))) }
