package transport

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// client is who sent a request, as far as it is proven.
type client struct {
	name string // of its token; empty where none is asked for
	seal []byte // the digest of its token; nil where none is asked for
	host string // it comes from, or what stands before us does
}

// id is the client in the audit log.
func (c client) id() string {
	if c.name == "" {
		return "http:" + c.host
	}
	return "http:" + c.name + "@" + c.host
}

// httpSession is the client as handlers see it, for one request.
type httpSession struct {
	session
	client client
	reply  *reply
}

var (
	_ server.SessionWithClientInfo               = (*httpSession)(nil)
	_ server.SessionWithProtocolVersion          = (*httpSession)(nil)
	_ server.SessionWithResourceSubscriptions    = (*httpSession)(nil)
	_ server.SessionWithResourceSubscriptionsErr = (*httpSession)(nil)
	_ server.SessionWithSubscriptionFilter       = (*httpSession)(nil)
)

// Counted names whose calls a rate limit counts together.
func (s *httpSession) Counted() string {
	return "http:" + cmp.Or(s.client.name, s.client.host)
}

// NotificationChannel takes notifications for the client. They are written in
// their order, and before the response of the request they belong to.
func (s *httpSession) NotificationChannel() chan<- mcp.JSONRPCNotification {
	return s.notifications(func(line []byte, err error) {
		if err == nil {
			s.reply.event(line)
		}
	})
}

// SubscribeToResourceErr subscribes for as long as the request lasts. Of the handshake's
// clients none has a request that lasts, so that they would never hear anything.
func (s *httpSession) SubscribeToResourceErr(uri string) error {
	if !s.modern {
		return fault.New(fault.Unavailable, "over HTTP, changes are told to clients of protocol 2026-07-28 only",
			"Read the resource again instead")
	}
	s.SubscribeToResource(uri)
	return nil
}

// A session id says who a client of the handshake is, so that no server has to remember
// it: a random part that makes it one of a kind, the client's name and version, which
// nobody has verified, and a seal. The seal is made with the digest of the client's token,
// which every server behind a load balancer knows: with another token the id is refused.

const (
	maxSession  = 512 // bytes of a session id
	randomChars = 26
	sealBytes   = 16
)

// sessionOf is the id for a client that has introduced itself.
func sessionOf(info mcp.Implementation, of client) string {
	about := cut(info.Name) + "\x00" + cut(info.Version)
	id := rand.Text() + "." + base64.RawURLEncoding.EncodeToString([]byte(about))
	return id + "." + base64.RawURLEncoding.EncodeToString(of.sealOf(id))
}

func (c client) sealOf(session string) []byte {
	h := hmac.New(sha256.New, c.seal)
	h.Write([]byte("session\x00" + session)) // never fails
	return h.Sum(nil)[:sealBytes]
}

func cut(s string) string { return strings.ToValidUTF8(s[:min(len(s), 100)], "") }

// introduced is what a session id says, if it is one that this client got.
func introduced(session string, by client) (info mcp.Implementation, ok bool) {
	if len(session) > maxSession {
		return info, false
	}
	parts := strings.Split(session, ".")
	if len(parts) != 3 || len(parts[0]) != randomChars {
		return info, false
	}
	seal, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(seal, by.sealOf(parts[0]+"."+parts[1])) {
		return info, false
	}
	about, err := base64.RawURLEncoding.DecodeString(parts[1])
	name, version, two := strings.Cut(string(about), "\x00")
	return mcp.Implementation{Name: name, Version: version}, err == nil && two
}
