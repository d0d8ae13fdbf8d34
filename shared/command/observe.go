package command

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/telemetry"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

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
	t, err := telemetry.Open(o.collector, telemetry.Options{Server: a.Name, Version: a.version().Version, Transport: networkOf(set), Log: s.log})
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

// networkOf is the transport as OpenTelemetry names it.
func networkOf(set *settings.Set) string {
	if overHTTP(set) {
		return "tcp"
	}
	return "pipe"
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
			return nil, fault.New(fault.Misconfigured, "--otlp-endpoint is env, and OTEL_EXPORTER_OTLP_ENDPOINT is not set", "Set it, or write the address behind --otlp-endpoint")
		}
	}
	return telemetry.CollectorAt(endpoint, a.variable("OTEL_EXPORTER_OTLP_HEADERS"))
}

// adders are what the audit log hands its lines to.
func (o observers) adders() (all []func([]byte)) {
	for _, r := range o.relays {
		all = append(all, r.Add)
	}
	return all
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

// observed says who else learns of calls, and what the process keeps for that.
func (a *app) observed(ctx context.Context, set *settings.Set) ([]Check, restrict.Rules) {
	var checks []Check
	for _, name := range set.List("audit-also") {
		checks = append(checks, copied(name))
	}
	to, err := a.collector(set)
	switch {
	case err != nil:
		return append(checks, bad("telemetry", err)), restrict.Rules{}
	case to == nil:
		return append(checks, Check{OK, "telemetry", "is off: nothing is sent to a collector", ""}), restrict.Rules{}
	}
	return append(checks, collected(ctx, to)), observers{collector: to}.keep(restrict.Rules{})
}

func copied(name string) Check {
	r, err := openRelay(name, slog.New(slog.DiscardHandler))
	if err == nil {
		err = r.Close()
	}
	if err != nil {
		return bad("audit copy", err)
	}
	return Check{OK, "audit copy", "goes to " + name + " after each event is stored; a copy that is lost refuses no call", ""}
}

// collected sends the collector a message with nothing in it.
func collected(ctx context.Context, to *telemetry.Collector) Check {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	text := "names of tools, codes, sizes and times of calls go to " + to.String()
	switch err := to.Try(ctx); {
	case err != nil:
		return Check{Warn, "telemetry", text + ", which does not take them: " + err.Error(), "Start a collector there that takes OTLP over HTTP; calls do not wait for it"}
	case to.Open():
		return Check{Warn, "telemetry", text + ", unencrypted", "Use https, or a collector on this machine"}
	}
	return Check{OK, "telemetry", text, ""}
}
