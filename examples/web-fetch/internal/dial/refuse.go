package dial

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/textproto"

	"github.com/multiollama/mcp-server/shared/fault"
)

// forbidden refuses an address without telling it: what a name resolves to within a
// network is nobody's business outside of it. The audit log has it.
func forbidden(why string) *fault.Error {
	return fault.New(fault.OutsideAllowed, "the URL leads to "+why+", where nothing is fetched from",
		"Use a public page; the person who runs this server can allow an address with --allow-address").With("rule", "address")
}

func notDialled(at netip.AddrPort) error { return fmt.Errorf("%s was not connected to", at) }

func forbiddenPort(port uint16) *fault.Error {
	return fault.New(fault.OutsideAllowed, fmt.Sprintf("nothing is fetched from port %d", port),
		"Use a URL without a port; the person who runs this server can allow one with --allow-port").With("rule", "port")
}

func malformed(word string) *fault.Error {
	return fault.New(fault.ParamMalformed, "this is no URL: "+shown(word), "Write it in full, as https://example.com/page")
}

func badHost(host string) *fault.Error {
	return fault.New(fault.ParamMalformed, "the URL has no valid host: "+shown(host), "Write it in full, as https://example.com/page")
}

func tooManyRedirects(most int) *fault.Error {
	return fault.New(fault.LimitReached, fmt.Sprintf("the server redirected more than %d times", most), "Use the URL of the page itself").With("limit", most)
}

func tooLarge(most int64) *fault.Error {
	return fault.New(fault.LimitReached, fmt.Sprintf("the page has more than %d bytes", most),
		"Use a smaller page; the person who runs this server can raise --max-page-bytes").With("limit", most)
}

// unreachable is a failure of the network in the words of the table.
func unreachable(ctx context.Context, host string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if ctx.Err() != nil {
		return timedOut(ctx, err)
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		return unresolved(host, dns)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fault.New(fault.TimedOut, host+" does not answer", "Try again later, or use another page").Because(err)
	}
	return fault.New(fault.NetworkRefused, failure(host, err), "Check the URL, try again later, or use another page").Because(err)
}

func timedOut(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	return fault.New(fault.TimedOut, "the page did not come in the time it may take", "Try again later, or use another page").Because(err)
}

func unresolved(host string, err *net.DNSError) error {
	if err.IsNotFound {
		return fault.New(fault.NotFound, "there is no host called "+host, "Check the spelling, or search for the page").Because(err)
	}
	return fault.New(fault.NetworkRefused, "the name "+host+" cannot be looked up at the moment", "Try again later").Because(err)
}

// failure says what went wrong, as far as it can be told from an error.
func failure(host string, err error) string {
	certificate, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, protocol := errors.AsType[textproto.ProtocolError](err)
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case bad:
		return "the certificate of " + host + " is not trusted: " + shown(certificate.Err.Error())
	case record:
		return host + " does not speak TLS at that port"
	case protocol:
		return host + " does not speak HTTP"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), corrupt:
		return "the page from " + host + " came broken or not whole"
	}
	return "no connection to " + host + " comes about"
}
