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
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
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

// latestFigures is the newest monitor of an execution, if there is one, and its newest figures.
func (s *shell) latestFigures(id string) (string, figures) {
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

var statsSpec = toolkit.Spec{
	Name: "monitoring_get_stats", Title: "Statistics", Toolset: "monitoring", Effect: toolkit.Reads,
	Doc: "Tell how much runs here, what the system has left, what the monitors saw, and how commands are held.",
}

type statsIn struct {
	Metrics []string `json:"include_metrics,omitempty" doc:"processes, terminals, files, system."`
	Range   int      `json:"time_range_minutes,omitempty" default:"60" min:"1" max:"1440"`
}

type statsOut struct {
	Processes int                `json:"active_processes"`
	Terminals int                `json:"active_terminals"`
	Files     int                `json:"total_files"`
	Load      figures            `json:"system_load"`
	Memory    figures            `json:"memory_usage"`
	Uptime    float64            `json:"uptime_seconds"`
	Server    figures            `json:"server"`
	Monitors  map[string]figures `json:"monitors" doc:"What each saw, by its ID."`
	Sandbox   map[string]bool    `json:"sandbox" doc:"Which promises hold."`
	Limits    figures            `json:"limits"`
	Collected string             `json:"collected_at"`
}

// statNames are the words of document 001.
var statNames = []string{"processes", "terminals", "files", "system"}

func (s *shell) stats(_ context.Context, in statsIn) (statsOut, error) {
	for _, word := range in.Metrics {
		if !slices.Contains(statNames, word) {
			return statsOut{}, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no metric %q", word), "Use "+strings.Join(statNames, ", ")).
				With("parameter", "include_metrics")
		}
	}
	wanted := func(word string) bool { return len(in.Metrics) == 0 || slices.Contains(in.Metrics, word) }
	span := time.Duration(in.Range) * time.Minute
	l := s.limits.now()
	out := statsOut{
		Load: figures{}, Memory: figures{}, Server: figures{}, Monitors: map[string]figures{}, Sandbox: map[string]bool{},
		Collected: stamp(time.Now()),
		Limits: figures{ // of the operator, as far as they are numbers
			"max_processes": float64(s.settings.Count("max-processes")), "max_terminals": float64(s.settings.Count("max-terminals")),
			"max_execution_time": l.time.Seconds(), "max_memory_mb": float64(l.memory) / mb,
			"max_file_size_mb": float64(s.settings.Size("max-file-size")) / mb, "max_output_mb": float64(s.settings.Size("output-size")) / mb,
		},
	}
	if wanted("processes") {
		running, err := s.runner.List(process.Filter{State: process.Running})
		if err != nil {
			return statsOut{}, err
		}
		out.Processes = running.Filtered
		for _, m := range s.monitors.List() {
			f := summary(s.monitors.History(m.ID, span))
			f["process_id"] = float64(m.PID)
			out.Monitors[m.ID] = f
		}
	}
	if wanted("terminals") {
		open, err := s.openTerminals()
		if err != nil {
			return statsOut{}, err
		}
		out.Terminals = len(open)
	}
	if wanted("files") {
		_, total, err := s.store.List(output.Filter{Limit: 1})
		if err != nil {
			return statsOut{}, err
		}
		out.Files = total
	}
	if wanted("system") {
		return out, s.system(&out, span)
	}
	return out, nil
}

// summary is the mean and the most of samples, which may be of different spans, and the
// newest of what only grows. What the system did not report is left out.
func summary(samples []monitor.Sample) figures {
	if len(samples) == 0 {
		return figures{}
	}
	f := figuresOf(samples[len(samples)-1])
	var looks, memory, span, cpu float64
	for _, one := range samples {
		f["processes_most"] = max(f["processes_most"], float64(one.Processes))
		if one.Reported.Has(monitor.Memory) {
			looks += float64(one.Looks)
			memory += float64(one.Looks) * float64(one.Memory.Bytes) / mb
			f["memory_mb_most"] = max(f["memory_mb_most"], float64(one.Memory.Max)/mb)
		}
		if one.Reported.Has(monitor.CPU) {
			span += one.Span.Seconds()
			cpu += one.Span.Seconds() * one.CPU.Percent
			f["cpu_percent_most"] = max(f["cpu_percent_most"], one.CPU.Max)
		}
	}
	if looks > 0 {
		f["memory_mb_mean"] = memory / looks
	}
	if span > 0 {
		f["cpu_percent_mean"] = cpu / span
	}
	return f
}

// system fills in the figures of the machine and of this server.
func (s *shell) system(out *statsOut, span time.Duration) error {
	now, past, err := s.machine.Stats(span)
	if err != nil {
		return err
	}
	out.Uptime = now.ServerSince.Seconds()
	out.Load["processors"], out.Load["machine_uptime_seconds"] = float64(now.Processors), now.Uptime.Seconds()
	if now.Load != nil {
		maps.Copy(out.Load, figures{"one_minute": now.Load.One, "five_minutes": now.Load.Five, "fifteen_minutes": now.Load.Fifteen})
	}
	out.Load.addRange("", past.Load, 1)
	if now.Memory != nil {
		maps.Copy(out.Memory, figures{
			"total_mb": float64(now.Memory.Total) / mb, "available_mb": float64(now.Memory.Available) / mb, "used_mb": float64(now.Memory.Used) / mb,
			"swap_total_mb": float64(now.Memory.SwapTotal) / mb, "swap_used_mb": float64(now.Memory.SwapUsed) / mb,
		})
	}
	out.Memory.addRange("used_mb_", past.Memory, mb)
	self := monitor.OfSelf()
	out.Server = figures{"goroutines": float64(self.Goroutines), "heap_mb": float64(self.Heap) / mb}
	if self.Descriptors > 0 {
		out.Server["descriptors"] = float64(self.Descriptors)
	}
	for _, p := range s.sandbox.Report() {
		out.Sandbox[p.Name] = p.Holds
	}
	return nil
}

// addRange adds what a figure was over a time.
func (f figures) addRange(name string, r *monitor.Range, unit float64) {
	if r != nil {
		f[name+"least"], f[name+"mean"], f[name+"most"] = r.Min/unit, r.Mean/unit, r.Max/unit
	}
}

// Text is the figures, a line each.
func (o statsOut) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d commands and %d terminals run; %d outputs are kept; up for %.0f s\n", o.Processes, o.Terminals, o.Files, o.Uptime)
	fmt.Fprintf(&b, "load: %s\nmemory: %s\nserver: %s\nlimits: %s\n", o.Load, o.Memory, o.Server, o.Limits)
	for _, id := range slices.Sorted(maps.Keys(o.Monitors)) {
		fmt.Fprintf(&b, "%s: %s\n", id, o.Monitors[id])
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sandbox)) {
		fmt.Fprintf(&b, "sandbox: %s holds: %t\n", name, o.Sandbox[name])
	}
	return b.String()
}
