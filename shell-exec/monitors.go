package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/monitor"
)

var monitorSpec = toolkit.Spec{
	Name: "process_monitor", Title: "Monitor a process", Toolset: "process", Effect: toolkit.Reads,
	Doc: "Measure a process that this server started, with all it started, until it ends. process_get_execution tells the newest figures.",
}

type monitorIn struct {
	PID      int      `json:"process_id" min:"1"`
	Interval int      `json:"monitor_interval_ms,omitempty" default:"1000" min:"100" max:"60000"`
	Metrics  []string `json:"include_metrics,omitempty" doc:"cpu, memory, io, network."`
}

// monitorOut is a monitor and its newest figures.
type monitorOut struct {
	ID        string  `json:"monitor_id"`
	PID       int     `json:"process_id"`
	Execution string  `json:"execution_id"`
	Status    string  `json:"status" enum:"running|ended|stopped"`
	Interval  int64   `json:"monitor_interval_ms"`
	Started   string  `json:"started_at"`
	Resource  string  `json:"resource_uri,omitempty" doc:"To be subscribed to."`
	Latest    figures `json:"latest,omitempty"`
}

// figures are measurements by name.
type figures map[string]float64

const mb = 1 << 20

// figuresOf are the figures of a sample, without what the system does not report.
func figuresOf(s monitor.Sample) figures {
	f := figures{"processes": float64(s.Processes), "span_ms": float64(s.Span) / float64(time.Millisecond)}
	if s.Reported.Has(monitor.CPU) {
		f["cpu_percent"], f["cpu_percent_most"], f["cpu_seconds"] = s.CPU.Percent, s.CPU.Max, s.CPU.Time.Seconds()
	}
	if s.Reported.Has(monitor.Memory) {
		f["memory_mb"], f["memory_mb_most"] = float64(s.Memory.Bytes)/mb, float64(s.Memory.Max)/mb
	}
	if s.Reported.Has(monitor.IO) {
		f["io_read_bytes"], f["io_written_bytes"] = float64(s.IO.Read), float64(s.IO.Written)
		f["io_storage_read_bytes"], f["io_storage_written_bytes"] = float64(s.IO.StorageRead), float64(s.IO.StorageWritten)
	}
	if s.Reported.Has(monitor.Network) {
		n, whose := s.Network, "machine" // the system does not count the traffic of a process
		if n.Own {
			whose = "own"
		}
		f["sockets_tcp"], f["sockets_listening"] = float64(n.TCP), float64(n.Listening)
		f["sockets_udp"], f["sockets_unix"] = float64(n.UDP), float64(n.Unix)
		f["network_"+whose+"_received_bytes"], f["network_"+whose+"_sent_bytes"] = float64(n.Received), float64(n.Sent)
	}
	return f
}

func (s *shell) monitor(_ context.Context, in monitorIn) (monitorOut, error) {
	metrics, err := monitor.ParseMetrics(in.Metrics)
	if err != nil {
		return monitorOut{}, err
	}
	id, source, err := s.source(in.PID)
	if err != nil {
		return monitorOut{}, err
	}
	o := monitor.Options{Interval: time.Duration(in.Interval) * time.Millisecond, Metrics: metrics}
	m, err := s.monitors.Start(in.PID, id, source, o, func(monitor.Sample) { s.changed(resourceURI(id)) })
	if err != nil {
		return monitorOut{}, err
	}
	out := monitorOut{
		ID: m.ID, PID: m.PID, Execution: m.Execution, Status: string(m.State), Interval: m.Interval.Milliseconds(),
		Started: stamp(m.Started), Resource: resourceURI(m.Execution),
	}
	if latest, ok := s.monitors.Latest(m.ID); ok {
		out.Latest = figuresOf(latest)
	}
	return out, nil
}

// source is the processes of an execution or a terminal, by the ID of its first process.
func (s *shell) source(pid int) (id string, source monitor.Source, err error) {
	w, err := s.runner.Watch(pid)
	if err == nil {
		return w.ID, w, nil
	}
	if fault.From(err).Code != fault.NoProcess {
		return "", nil, err
	}
	t, terminalErr := s.terminals.Watch(pid)
	if terminalErr != nil {
		return "", nil, err
	}
	return t.ID, t, nil
}

// watched is the newest monitor of an execution, if there is one, and its newest figures.
func (s *shell) watched(id string) (string, figures) {
	m, ok := s.monitors.Find(id)
	if !ok {
		return "", nil
	}
	latest, ok := s.monitors.Latest(m.ID)
	if !ok {
		return m.ID, nil
	}
	return m.ID, figuresOf(latest)
}

// Text is the monitor, and its figures in the order of their names.
func (o monitorOut) Text() string {
	return fmt.Sprintf("[%s %s, pid %d, every %d ms: %s]\n", o.ID, o.Status, o.PID, o.Interval, o.Latest)
}

// String is the figures in the order of their names.
func (f figures) String() string {
	words := make([]string, 0, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		words = append(words, fmt.Sprintf("%s %.6g", name, f[name]))
	}
	return strings.Join(words, ", ")
}

const resourcePrefix = "execution://"

func resourceURI(id string) string { return resourcePrefix + id }

// resources are executions, for clients that want to hear of their figures.
func (s *shell) resources() *toolkit.Resources {
	return &toolkit.Resources{
		URITemplate: resourcePrefix + "{execution_id}", Name: "executions", Title: "Executions",
		Doc: "What is known of an execution, with the figures of its monitor. Who subscribes hears of each new figure.",
		Read: func(ctx context.Context, uri string) ([]toolkit.ResourceContent, error) {
			out, err := s.get(ctx, getIn{ID: strings.TrimPrefix(uri, resourcePrefix)})
			if err != nil {
				return nil, err
			}
			content, err := toolkit.JSONContent(uri, out)
			return []toolkit.ResourceContent{content}, err
		},
		Watch: func(changed func(string)) { s.changed = changed },
	}
}
