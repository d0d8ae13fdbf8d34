package transport

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

// ServeHTTP lets a request through to post, or refuses it. What is cheap to know is asked
// first, and nobody without a token has anything read but the head of a request.
func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.paced(w) // also a body that nobody reads
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path == healthPath {
		// A load balancer has no token and may know the server by any name.
		text, status := "ok\n", http.StatusOK
		_, ending := s.calls.state()
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			text, status = "no\n", http.StatusMethodNotAllowed
		case ending:
			text, status = "ending\n", http.StatusServiceUnavailable
		}
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Connection", "close") // whoever asks keeps none open; over HTTP/2 it means nothing
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // the client may be gone
		return
	}
	if no := s.foreign(r); no != nil {
		s.refuse(w, r, no)
		return
	}

	// The scripts of a page may read the answer to a request of theirs that is allowed, and
	// their browser asks before what they may send (Fetch standard, CORS protocol).
	h.Add("Vary", "Origin")
	if origin, ok := originOf(r); ok && s.plan.pages.named(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
	}
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", http.MethodPost)
		h.Set("Access-Control-Allow-Headers",
			"Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return
	}

	who, no := s.known(r)
	if no == nil {
		no = s.fits(r)
	}
	if no != nil {
		s.refuse(w, r, no)
		return
	}
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		c.authenticated()
	}
	s.post(w, r, who)
}

// rejection is why a request is not worked on.
type rejection struct {
	status    int
	fault     *fault.Error
	challenge string // what WWW-Authenticate says besides the realm
	allow     string // the methods that there are
	later     bool   // it may work in a moment
}

func reject(status int, code fault.Code, what, do string) *rejection {
	return &rejection{status: status, fault: fault.New(code, what, do)}
}

// singleHeaders are the headers that say one thing: two of them could be read as one by us, and
// as the other by what stands before us.
var singleHeaders = []string{"Authorization", "Content-Type", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Origin"}

// foreign rejects what did not mean this server, or comes from a page that may not.
func (s *served) foreign(r *http.Request) *rejection {
	for _, name := range singleHeaders {
		if len(r.Header[name]) > 1 {
			return reject(http.StatusBadRequest, fault.ParamInvalid, "the header "+name+" stands twice", "Send it once")
		}
	}
	switch {
	case !s.plan.names.admit(r.Host):
		return reject(http.StatusForbidden, fault.Forbidden, "this server does not go by the name that the request has in Host",
			"Use the address that the server told at its start, or have its operator add the name with --allow-host")
	case !s.plan.pages.admit(r):
		return reject(http.StatusForbidden, fault.Forbidden, "pages of this origin may not send requests",
			"Have the server's operator add the origin with --allow-origin")
	case r.URL.Path != httpPath:
		return reject(http.StatusNotFound, fault.NotFound, "nothing is here", "Send messages to "+httpPath)
	case r.URL.RawQuery != "" || r.URL.ForceQuery:
		no := reject(http.StatusBadRequest, fault.ParamInvalid,
			"the address has a query, and there is none here: a token in an address ends up in logs",
			"Send the token in the header Authorization")
		no.challenge = `error="invalid_request"`
		return no
	}
	return nil
}

// known returns who sent a request, or what is wrong with its token (RFC 6750, section 3.1).
func (s *served) known(r *http.Request) (client, *rejection) {
	who := client{host: r.RemoteAddr}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		who.host = host
	}
	if len(s.plan.tokens) == 0 {
		return who, nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if given = strings.Trim(given, " "); !strings.EqualFold(scheme, "Bearer") || given == "" {
		return who, reject(http.StatusUnauthorized, fault.TokenMissing, "the request has no bearer token",
			"Send Authorization: Bearer with the token that the server's operator gave you")
	}
	owner, ok := s.plan.tokens.owner(given)
	if !ok {
		no := reject(http.StatusUnauthorized, fault.TokenWrong, "the bearer token is not one of this server",
			"Ask the server's operator for a token")
		no.challenge = `error="invalid_token", error_description="the token is not one of this server"`
		return who, no
	}
	who.name, who.seal = owner.name, owner.digest[:]
	return who, nil
}

// fits rejects what cannot be a message by its head.
func (s *served) fits(r *http.Request) *rejection {
	if r.Method != http.MethodPost {
		no := reject(http.StatusMethodNotAllowed, fault.ParamInvalid,
			"messages are sent with POST; there are no sessions to listen to or to end",
			"Send POST, and for notifications subscriptions/listen")
		no.allow = "POST, OPTIONS"
		return no
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != "application/json":
		return reject(http.StatusUnsupportedMediaType, fault.ParamInvalid, "the body is not said to be JSON",
			"Send Content-Type: application/json")
	case r.Header.Get("Content-Encoding") != "":
		return reject(http.StatusUnsupportedMediaType, fault.ParamInvalid, "the body is encoded",
			"Send it as it is, without Content-Encoding")
	case !accepts(r, "application/json") && !accepts(r, eventStream):
		return reject(http.StatusNotAcceptable, fault.ParamInvalid,
			"an answer is JSON or a stream of events, and the client accepts neither",
			"Send Accept: application/json, text/event-stream")
	case r.ContentLength > int64(s.o.MaxBody):
		return s.tooLarge()
	}
	return nil
}

func (s *served) tooLarge() *rejection {
	no := reject(http.StatusRequestEntityTooLarge, fault.LimitReached,
		"the message is longer than "+strconv.Itoa(s.o.MaxBody)+" bytes", "Send less at a time")
	no.fault = no.fault.With("limit", s.o.MaxBody)
	return no
}

// accepts reports whether a client takes an answer of that type. One that does not say
// what it takes takes anything.
func accepts(r *http.Request, kind string) bool {
	all := strings.Join(r.Header.Values("Accept"), ",")
	family, _, _ := strings.Cut(kind, "/")
	for part := range strings.SplitSeq(all, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err == nil && params["q"] != "0" && (name == kind || name == family+"/*" || name == "*/*") {
			return true
		}
	}
	return strings.TrimSpace(all) == ""
}

// refuse answers in the words of the error table, and lets go of the connection: whoever
// is refused keeps none open.
func (s *served) refuse(w http.ResponseWriter, r *http.Request, no *rejection) {
	s.o.Log.Info("a request was refused", "status", no.status, "code", no.fault.Code, "remote", r.RemoteAddr, "why", no.fault.Msg)
	h := w.Header()
	if no.status == http.StatusUnauthorized || no.challenge != "" {
		challenge := `Bearer realm="` + s.o.Name + `"`
		if no.challenge != "" {
			challenge += ", " + no.challenge
		}
		h.Set("WWW-Authenticate", challenge)
	}
	if no.allow != "" {
		h.Set("Allow", no.allow)
	}
	if no.later {
		h.Set("Retry-After", "1")
	}
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close")
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(no.status)
	_, _ = w.Write(append(no.fault.Envelope(time.Now(), ""), '\n')) // the client may be gone
}

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
			return nil, fault.New(fault.Misconfigured, "the origin "+origin+" is none",
				"Write it as a browser does: https://example.com, without a path").Because(err)
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
