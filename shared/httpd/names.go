package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// names are those that a request may have in Host, without ports, which a forwarded
// connection changes. A page that is led here by its own name, resolved to this machine,
// has another one (DNS rebinding).
type names []string

func namesOf(listen string, more []string) names {
	all := names{}
	for _, host := range append([]string{listen}, more...) {
		if ip, err := netip.ParseAddr(bare(host)); host != "" && (err != nil || !ip.IsUnspecified()) {
			all = append(all, bare(host))
		}
	}
	return all
}

func (n names) admit(host string) bool {
	name := bare(host)
	return loopback(name) || name != "" && slices.Contains(n, name)
}

// bare is a host without its port, brackets and final dot, in small letters.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// pages are what may send requests from a browser.
type pages struct {
	origins []string
	cross   *http.CrossOriginProtection
}

func pagesOf(origins []string) (*pages, error) {
	p := &pages{cross: http.NewCrossOriginProtection()}
	for _, origin := range origins {
		origin = strings.ToLower(origin)
		if err := p.cross.AddTrustedOrigin(origin); err != nil {
			return nil, misconfigured("the origin "+origin+" is none", "Write it as a browser does: https://example.com, without a path").Because(err)
		}
		p.origins = append(p.origins, origin)
	}
	return p, nil
}

// admit reports whether a request comes from no page, from one of this server, or from
// one that is allowed.
func (p *pages) admit(r *http.Request) bool {
	origin, ok := originOf(r)
	if !ok {
		return p.cross.Check(r) == nil
	}
	u, err := url.Parse(origin)
	same := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	return same || p.named(origin)
}

// named reports whether an origin was allowed by name.
func (p *pages) named(origin string) bool { return slices.Contains(p.origins, strings.ToLower(origin)) }

func originOf(r *http.Request) (origin string, ok bool) {
	return r.Header.Get("Origin"), len(r.Header["Origin"]) > 0
}
