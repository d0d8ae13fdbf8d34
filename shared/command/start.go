package command

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/httpd"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// started is a server with everything open that it will ever need and, where
// asked for, nothing else left to it.
type started struct {
	server   *toolkit.Server
	listener *httpd.Listener // of the transport http; nil on stdin and stdout
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
		if s.listener, err = httpd.Open(ctx, httpSettings(set)); err != nil {
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
	recorder, dir, err := a.openAudit(s, set, watching.adders())
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
