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

// start opens what it listens on, then the allowed directories, then the audit log and what else the
// server needs, and then restricts the process: in that order, since afterwards nothing more can be opened.
func (a *app) start(ctx context.Context) (*started, error) {
	set, err := a.load()
	if err != nil {
		return nil, err
	}
	s := &started{log: slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: set.Level("log-level")}))}
	if err := a.fill(ctx, s, set); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (a *app) fill(ctx context.Context, s *started, set *settings.Set) error {
	if err := s.listen(ctx, set); err != nil {
		return err
	}
	service, err := a.open(ctx, set)
	if err != nil {
		return err
	}
	s.close = append(s.close, service.close)
	watching, err := a.observe(s, set)
	if err != nil {
		return err
	}
	recorder, dir, err := a.openAudit(s, set, watching.adders())
	if err != nil {
		return err
	}
	if service.Start != nil {
		if err := service.Start(ctx); err != nil {
			return err
		}
	}
	c := a.config(service, set, recorder, s.log)
	c.Tracing = watching.tracing
	if s.server, err = toolkit.NewServer(c); err != nil {
		return err
	}
	rules := watching.keep(withAudit(service.Restrict, dir))
	rules.Accept = s.listener != nil
	return a.restrict(s, set, rules)
}

// listen opens the address of the transport http: afterwards no socket can be made, and
// no token or certificate read.
func (s *started) listen(ctx context.Context, set *settings.Set) (err error) {
	if !overHTTP(set) {
		return nil
	}
	if s.listener, err = httpd.Open(ctx, httpSettings(set)); err == nil {
		s.close = append(s.close, s.listener.Close)
	}
	return err
}

func (a *app) config(service *Service, set *settings.Set, recorder audit.Recorder, log *slog.Logger) toolkit.Config {
	calls, per := set.Rate("rate-limit")
	c := toolkit.Config{
		Name: a.Name, Version: a.version().Version, Title: a.Title, Instructions: service.Instructions,
		Vocabulary:    service.Vocabulary,
		TextOnly:      set.Text("results") == "text",
		Rate:          toolkit.Rate{Calls: calls, Per: per},
		Audit:         recorder,
		AuditRequired: set.Bool("audit-required"),
		Clock:         time.Now,
		Resources:     service.Resources,
		Log:           log,
	}
	if service.Roots != nil {
		c.Locate = service.Roots.Locate
	}
	return c
}

// openAudit gives the recorder and the directory it needs. Events go nowhere
// only where somebody said so, or where the default file cannot be opened and
// no call depends on it: then a warning says it. also get what is stored, or would be.
func (a *app) openAudit(s *started, set *settings.Set, also []func([]byte)) (audit.Recorder, string, error) {
	switch set.Text("audit-log") {
	case "off":
		return a.noAudit(set, also)
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
	return unkept(also), "", nil
}

// unkept stores nothing here; where others get the events, they have a chain that begins
// with the process.
func unkept(also []func([]byte)) audit.Recorder {
	if len(also) == 0 {
		return audit.Discard
	}
	return audit.NewWriter(io.Discard, also...)
}

func (a *app) noAudit(set *settings.Set, also []func([]byte)) (audit.Recorder, string, error) {
	if set.Bool("audit-required") {
		return nil, "", fault.New(fault.Misconfigured, "calls require an audit log, and it is off",
			"Name a file with --audit-log, or write --audit-required=false")
	}
	return unkept(also), "", nil
}

// withAudit lets the process go on writing its audit log, which is also rotated
// and read back there.
func withAudit(r restrict.Rules, dir string) restrict.Rules {
	if dir != "" {
		r.Read = append(slices.Clone(r.Read), dir)
		r.Write = append(slices.Clone(r.Write), dir)
	}
	return r
}

// restrict gives up what rules do not name. Under required, every part must
// hold; under auto, what this machine cannot enforce is told. Where the kernel
// refuses what it offers, the process may be restricted in part, and never serves.
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
	if err == nil && report.Holds() {
		s.log.Info("the process is restricted", "read", rules.Read, "write", rules.Write)
		return nil
	}
	if err != nil {
		return err
	}
	if mode == "required" {
		return unrestricted(report)
	}
	for _, part := range report {
		if !part.Holds {
			s.log.Warn("the process keeps more than it needs", "part", part.Name, "why", part.Why, "fix", part.Fix)
		}
	}
	return nil
}

// unrestricted is the first part that does not hold.
func unrestricted(report restrict.Report) error {
	for _, part := range report {
		if !part.Holds {
			return fault.New(fault.Unavailable, "the process cannot be restricted as required: "+part.Why, part.Fix).With("part", part.Name)
		}
	}
	return nil
}
