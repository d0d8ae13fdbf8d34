package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/telemetry"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shared/transport"
)

// drain is how long calls that still run may take to end: a server ends within
// 5 s of being asked to.
const drain = 4 * time.Second

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{Use: "serve", Short: "Serve MCP on stdin and stdout, or over HTTP (as without a command)", Args: a.noCommand,
		RunE: a.serve}
	if a.Pathless {
		return c
	}
	c.Use += " [DIR …]"
	c.Long = c.Short + ". Every DIR is allowed as if it\n" +
		"stood behind --allow-path: for hosts that can only append what a person picked."
	c.Args = arguments(0, -1)
	c.RunE = func(c *cobra.Command, dirs []string) error {
		for _, dir := range dirs {
			if err := c.Flags().Set("allow-path", dir); err != nil {
				return err
			}
		}
		return a.serve(c, nil)
	}
	return c
}

// serve ends when stdin does, over HTTP never by itself, or at SIGTERM or SIGINT.
func (a *app) serve(c *cobra.Command, _ []string) error {
	restrict.Private()
	ctx, stop := untilSignal(c.Context())
	defer stop()
	// A host that is gone makes writing an error like any other, on stderr too. SIGPIPE is caught and not looked
	// at, rather than ignored, because a child would inherit that.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	log := &unread{to: a.env.Stderr}
	a.env.Stderr = log
	defer log.flush()
	s, err := a.start(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.listener != nil {
		fmt.Fprintf(a.env.Stderr, "%s listens on %s\n", a.Name, s.listener.URL()) // nobody else knows of port 0
		if len(s.listener.Plan().Clients) == 0 {
			s.log.Warn("no token is asked for: every program and every user of this machine can call; see --token-file")
		}
		return s.listener.Serve(ctx, s.server, transport.HTTPOptions{
			Name: a.Name, MaxBody: a.maxMessage(), Drain: drain, Log: s.log, Context: toolkit.WithRequestID, Trace: s.server.TraceOf,
		})
	}
	if isTerminal(a.env.Stdin) {
		s.log.Warn("stdin is a terminal: this waits for the messages of an MCP host; see --help")
	}
	return transport.ServeStdio(ctx, s.server, a.env.Stdin, a.env.Stdout, transport.StdioOptions{
		MaxLine: a.maxMessage(), Drain: drain, Log: s.log, Context: toolkit.WithRequestID,
	})
}

// isTerminal says that r is a character device other than the null device: the
// same question on every platform, and wrong only about devices nobody serves
// on.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// untilSignal is ctx until SIGTERM or SIGINT; a second one ends the process at
// once.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// started is a server with everything open that it will ever need and, where
// asked for, nothing else left to it.
type started struct {
	server   *toolkit.Server
	listener *transport.HTTPListener // of the transport http; nil on stdin and stdout
	log      *slog.Logger
	close    []func() error
}

// Close closes in the reverse order of opening. What a close says is too late
// to act on.
func (s *started) Close() {
	for _, c := range slices.Backward(s.close) {
		if err := c(); err != nil {
			s.log.Warn("closing", "error", err)
		}
	}
}

// start opens the address to listen on, the allowed directories, the audit log, and what else the server needs,
// and then restricts the process: in that order, since nothing more can be opened afterwards.
func (a *app) start(ctx context.Context) (_ *started, err error) {
	set, err := a.load()
	if err != nil {
		return nil, err
	}
	s := &started{log: slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: set.Level("log-level")}))}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()

	if overHTTP(set) {
		if s.listener, err = transport.OpenHTTP(ctx, httpSettings(set)); err != nil {
			return nil, err
		}
		s.close = append(s.close, s.listener.Close)
	}
	service, err := a.open(ctx, set)
	if err != nil {
		return nil, err
	}
	s.close = append(s.close, service.close)
	watching, err := a.observe(s, set)
	if err != nil {
		return nil, err
	}
	var copies []func([]byte)
	for _, r := range watching.relays {
		copies = append(copies, r.Add)
	}
	recorder, dir, err := a.openAudit(s, set, copies)
	if err != nil {
		return nil, err
	}
	if service.Start != nil {
		if err := service.Start(ctx); err != nil {
			return nil, err
		}
	}

	calls, per := set.Rate("rate-limit")
	c := toolkit.Config{
		Name: a.Name, Version: a.version().Version, Title: a.Title, Instructions: service.Instructions,
		Vocabulary:    service.Vocabulary,
		TextOnly:      set.Text("results") == "text",
		Rate:          toolkit.Rate{Calls: calls, Per: per},
		Audit:         recorder,
		AuditRequired: set.Bool("audit-required"),
		Tracing:       watching.tracing,
		Clock:         time.Now,
		Resources:     service.Resources,
		Log:           s.log,
	}
	if service.Roots != nil {
		c.Locate = service.Roots.Locate
	}
	if s.server, err = toolkit.NewServer(c); err != nil {
		return nil, err
	}

	rules := service.Restrict
	if dir != "" { // the audit log is also rotated and read back there
		rules.Read = append(slices.Clone(rules.Read), dir)
		rules.Write = append(slices.Clone(rules.Write), dir)
	}
	rules = watching.keep(rules)
	rules.Accept = s.listener != nil
	return s, a.restrict(s, set, rules)
}

// observers are who else learns of calls: a collector, and logs of the system.
type observers struct {
	collector *telemetry.Collector // nil: none
	tracing   toolkit.Tracing      // nil: none
	relays    []*audit.Relay
}

// observe opens what the settings name, before the process is restricted.
func (a *app) observe(s *started, set *settings.Set) (o observers, err error) {
	for _, name := range set.List("audit-also") {
		r, err := openRelay(name, s.log)
		if err != nil {
			return o, err
		}
		s.close = append(s.close, r.Close)
		o.relays = append(o.relays, r)
	}
	if o.collector, err = a.collector(set); err != nil || o.collector == nil {
		return o, err
	}
	transport := "pipe" // as OpenTelemetry names it
	if overHTTP(set) {
		transport = "tcp"
	}
	t, err := telemetry.Open(o.collector, telemetry.Options{Server: a.Name, Version: a.version().Version, Transport: transport, Log: s.log})
	if err != nil {
		return o, err
	}
	s.close = append(s.close, t.Close)
	o.tracing = t
	return o, nil
}

func openRelay(name string, log *slog.Logger) (*audit.Relay, error) {
	to, err := audit.TargetOf(name)
	if err != nil {
		return nil, err
	}
	return audit.OpenRelay(to, log)
}

// collector is the one that --otlp-endpoint names; nil: none. The variables of
// OpenTelemetry count only where that flag is set.
func (a *app) collector(set *settings.Set) (*telemetry.Collector, error) {
	endpoint := set.Text("otlp-endpoint")
	switch endpoint {
	case "off":
		return nil, nil
	case "env":
		if endpoint = a.variable("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint == "" {
			return nil, fault.New(fault.Misconfigured, "--otlp-endpoint is env, and OTEL_EXPORTER_OTLP_ENDPOINT is not set",
				"Set it, or write the address behind --otlp-endpoint")
		}
	}
	return telemetry.CollectorAt(endpoint, a.variable("OTEL_EXPORTER_OTLP_HEADERS"))
}

// keep lets the process connect to the collector, and send to the logs of the system also
// when they were started again: each then has a new socket in the same directory.
func (o observers) keep(r restrict.Rules) restrict.Rules {
	if o.collector != nil {
		r.Connect = o.collector.Ports()
		r.Read = append(slices.Clone(r.Read), o.collector.Files()...)
	}
	for _, to := range o.relays {
		if real, err := filepath.EvalSymlinks(to.Target.Socket); err == nil {
			r.Sockets = append(slices.Clone(r.Sockets), filepath.Dir(real))
		}
	}
	return r
}

// openAudit returns the recorder of events and the directory it needs. also receive every event. Events are
// discarded only if the log is off, or if the default file cannot be opened and calls do not require it; the
// latter is a warning.
func (a *app) openAudit(s *started, set *settings.Set, also []func([]byte)) (audit.Recorder, string, error) {
	discard := audit.Discard
	if len(also) > 0 {
		discard = audit.NewWriter(io.Discard, also...) // the others get a chain that begins with the process
	}
	switch set.Text("audit-log") {
	case "off":
		if set.Bool("audit-required") {
			return nil, "", fault.New(fault.Misconfigured, "calls require an audit log, and it is off",
				"Name a file with --audit-log, or write --audit-required=false")
		}
		return discard, "", nil
	case "stderr":
		return audit.NewWriter(a.env.Stderr, also...), "", nil
	}
	file, err := a.auditFile(set, runtime.GOOS)
	if err == nil {
		var log *audit.Log
		if log, err = audit.Open(file, audit.Options{Anchor: a.anchor(file), Also: also}); err == nil {
			s.close = append(s.close, log.Close)
			return log, filepath.Dir(file), nil
		}
	}
	if set.Given("audit-log") || set.Bool("audit-required") {
		return nil, "", fault.New(fault.Misconfigured, "the audit log cannot be opened: "+fault.From(err).Msg,
			"Name another file with --audit-log").With("file", file).Because(err)
	}
	s.log.Warn("no audit log is kept: it cannot be opened", "file", file, "error", err)
	return discard, "", nil
}

// restrict gives up what rules do not name. With --restrict required, every part must be enforced; with auto, the
// log names what this machine cannot enforce. If the kernel refuses what it offers, the process may be restricted
// in part, and does not serve.
func (a *app) restrict(s *started, set *settings.Set, rules restrict.Rules) error {
	mode := set.Text("restrict")
	if mode == "off" || a.Runs {
		s.log.Info("the process is not restricted: it was asked not to be")
		return nil
	}
	self := a.env.restrict
	if self == nil {
		self = restrict.Self
	}
	report, err := self(rules)
	if err != nil {
		return err
	}
	if report.Holds() {
		s.log.Info("the process is restricted", "read", rules.Read, "write", rules.Write)
		return nil
	}
	for _, part := range report {
		if part.Holds {
			continue
		}
		if mode == "required" {
			return fault.New(fault.Unavailable, "the process cannot be restricted as required: "+part.Why, part.Fix).With("part", part.Name)
		}
		s.log.Warn("the process keeps more than it needs", "part", part.Name, "why", part.Why, "fix", part.Fix)
	}
	return nil
}

// onlyHTTP are the settings that mean nothing on stdin and stdout.
var onlyHTTP = []string{"listen", "token-file", "tls-cert", "tls-key", "behind-tls", "allow-host", "allow-origin"}

func overHTTP(set *settings.Set) bool { return set.Text("transport") == "http" }

// fitting rejects settings that the transport would silently ignore, and those by which a
// model could take the place of a client.
func (a *app) fitting(set *settings.Set) error {
	if !overHTTP(set) {
		for _, name := range onlyHTTP {
			if set.Given(name) {
				return fault.New(fault.Misconfigured, fmt.Sprintf("the setting %s (%s) means nothing on stdin and stdout", name, set.Source(name)),
					"Write --transport http, or leave it out")
			}
		}
		return nil
	}
	switch {
	case !a.Pathless && set.Bool("follow-roots"):
		return fault.New(fault.Misconfigured, "over HTTP no client can be asked for its roots, and follow-roots would not narrow anything",
			"Leave --follow-roots out, and name the directories with --allow-path")
	case a.Runs && set.Text("token-file") == "":
		return fault.New(fault.Misconfigured, "without a token, the commands that this server runs could call it themselves, "+
			"and answer its questions in a person's place", "Name a file of tokens with --token-file")
	case a.Pathless:
		return nil
	}
	dirs := set.List("allow-path")
	if a.Readable != nil {
		dirs = append(dirs, a.Readable(set)...)
	}
	for _, name := range []string{"token-file", "tls-key"} {
		file := set.Text(name)
		if file == "" {
			continue
		}
		if dir := first(dirs, func(dir string) bool { return holds(dir, resolved(file)) }); dir != "" {
			return fault.New(fault.Misconfigured, fmt.Sprintf("the setting %s (%s) is a file beneath %s, where a model can read it", name,
				set.Source(name), dir),
				"Keep it elsewhere, in a directory that is not handed out")
		}
	}
	return nil
}

func httpSettings(set *settings.Set) transport.HTTPSettings {
	return transport.HTTPSettings{
		Listen:    set.Text("listen"),
		TokenFile: set.Text("token-file"),
		CertFile:  set.Text("tls-cert"), KeyFile: set.Text("tls-key"),
		Hosts: set.List("allow-host"), Origins: set.List("allow-origin"),
		BehindTLS: set.Bool("behind-tls"),
	}
}
