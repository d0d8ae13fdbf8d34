package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/httpd"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// onlyHTTP are the settings that mean nothing on stdin and stdout.
var onlyHTTP = []string{"listen", "token-file", "tls-cert", "tls-key", "behind-tls", "allow-host", "allow-origin"}

func overHTTP(set *settings.Set) bool { return set.Text("transport") == "http" }

// fitting refuses settings that the transport would silently ignore, and those by which a
// model could take the place of a client.
func (a *app) fitting(set *settings.Set) error {
	if overHTTP(set) {
		return a.fittingHTTP(set)
	}
	for _, name := range onlyHTTP {
		if set.Given(name) {
			return fault.New(fault.Misconfigured, fmt.Sprintf("the setting %s (%s) means nothing on stdin and stdout", name, set.Source(name)),
				"Write --transport http, or leave it out")
		}
	}
	return nil
}

func (a *app) fittingHTTP(set *settings.Set) error {
	switch {
	case !a.Pathless && set.Bool("follow-roots"):
		return fault.New(fault.Misconfigured, "over HTTP no client can be asked for its roots, and follow-roots would not narrow anything",
			"Leave --follow-roots out, and name the directories with --allow-path")
	case a.Runs && set.Text("token-file") == "":
		return fault.New(fault.Misconfigured, "without a token, the commands that this server runs could call it themselves, and answer its questions in a person's place",
			"Name a file of tokens with --token-file")
	}
	for _, name := range []string{"token-file", "tls-key"} {
		if dir := a.handedOut(set, set.Text(name)); dir != "" {
			return fault.New(fault.Misconfigured, fmt.Sprintf("the setting %s (%s) is a file beneath %s, where a model can read it", name, set.Source(name), dir),
				"Keep it elsewhere, in a directory that is not handed out")
		}
	}
	return nil
}

// handedOut is the directory that is handed out and holds a file, or "".
func (a *app) handedOut(set *settings.Set, file string) string {
	if file == "" || a.Pathless {
		return ""
	}
	file = resolved(file)
	dirs := set.List("allow-path")
	if a.Readable != nil {
		dirs = append(dirs, a.Readable(set)...)
	}
	for _, dir := range dirs {
		if holds(resolved(dir), file) {
			return dir
		}
	}
	return ""
}

func httpSettings(set *settings.Set) httpd.Settings {
	return httpd.Settings{
		Listen:    set.Text("listen"),
		TokenFile: set.Text("token-file"),
		CertFile:  set.Text("tls-cert"), KeyFile: set.Text("tls-key"),
		Hosts: set.List("allow-host"), Origins: set.List("allow-origin"),
		BehindTLS: set.Bool("behind-tls"),
	}
}

// serveHTTP says where it listens, which nobody knows of port 0, and ends as serve does.
func (a *app) serveHTTP(ctx context.Context, s *started) error {
	fmt.Fprintf(a.env.Stderr, "%s listens on %s\n", a.Name, s.listener.URL())
	if len(s.listener.Plan().Clients) == 0 {
		s.log.Warn("no token is asked for: every program and every user of this machine can call; see --token-file")
	}
	return s.listener.Serve(ctx, s.server, httpd.Options{
		Name: a.Name, MaxBody: a.maxMessage(), Drain: drain, Log: s.log, Context: toolkit.WithRequestID, Trace: s.server.TraceOf,
	})
}

// reached says who can call, and by what way.
func (a *app) reached(ctx context.Context, set *settings.Set) []Check {
	if !overHTTP(set) {
		return []Check{a.stdin()}
	}
	p, err := httpSettings(set).Plan()
	if err != nil {
		return []Check{bad("http", err)}
	}
	return []Check{address(ctx, set, p), a.asked(p), encrypted(set, p, time.Now())}
}

func address(ctx context.Context, set *settings.Set, p *httpd.Plan) Check {
	text := "listens on " + set.Text("listen") + ", which only this machine reaches"
	if p.Exposed {
		text = "listens on " + set.Text("listen") + ", which other machines may reach"
	}
	if names := slices.Concat(set.List("allow-host"), set.List("allow-origin")); len(names) > 0 {
		text += "; it also goes by, or takes requests of pages of, " + strings.Join(names, ", ")
	}
	listener, err := httpd.Open(ctx, httpSettings(set))
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		return Check{Verdict: Warn, Subject: "http", Text: text + "; just now it cannot: " + fault.From(err).Msg, Fix: "Where that is not because this server runs already, name another address with --listen"}
	}
	return Check{Verdict: OK, Subject: "http", Text: text}
}

func (a *app) asked(p *httpd.Plan) Check {
	if a.Runs && len(p.Clients) > 1 {
		return Check{Warn, "tokens", several(len(p.Clients), "client") + " (" + strings.Join(p.Clients, ", ") + ") share commands, terminals, outputs and restrictions",
			"Where they are not one person, give each a server of its own"}
	}
	if len(p.Clients) == 0 {
		return Check{Warn, "tokens", "none is asked for: every program and every user of this machine can call", "Name a file of tokens with --token-file"}
	}
	return Check{OK, "tokens", several(len(p.Clients), "client") + " can call, each with a token: " + strings.Join(p.Clients, ", "), ""}
}

func encrypted(set *settings.Set, p *httpd.Plan, now time.Time) Check {
	switch {
	case p.Secure && now.After(p.Expires):
		return Check{Bad, "tls", "the certificate has expired on " + p.Expires.Format(time.DateOnly), "Renew it, and start the server again"}
	case p.Secure:
		return Check{OK, "tls", "ends here; the certificate is good until " + p.Expires.Format(time.DateOnly), ""}
	case set.Bool("behind-tls"):
		return Check{OK, "tls", "ends before this server, as configured: nothing but what ends it may reach the address", ""}
	}
	return Check{OK, "tls", "none: requests do not leave this machine", ""}
}
