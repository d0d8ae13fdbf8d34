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

// statistics are the words of document 001.
var statistics = []string{"processes", "terminals", "files", "system"}

func (s *shell) stats(_ context.Context, in statsIn) (statsOut, error) {
	for _, word := range in.Metrics {
		if !slices.Contains(statistics, word) {
			return statsOut{}, fault.New(fault.ParamInvalid, fmt.Sprintf("there is no metric %q", word), "Use "+strings.Join(statistics, ", ")).
				With("parameter", "include_metrics")
		}
	}
	wanted := func(word string) bool { return len(in.Metrics) == 0 || slices.Contains(in.Metrics, word) }
	span := time.Duration(in.Range) * time.Minute
	l := s.limits.now()
	out := statsOut{
		Load: figures{}, Memory: figures{}, Server: figures{}, Monitors: map[string]figures{}, Sandbox: map[string]bool{}, Collected: moment(),
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
	out.Load.over("", past.Load, 1)
	if now.Memory != nil {
		maps.Copy(out.Memory, figures{
			"total_mb": float64(now.Memory.Total) / mb, "available_mb": float64(now.Memory.Available) / mb, "used_mb": float64(now.Memory.Used) / mb,
			"swap_total_mb": float64(now.Memory.SwapTotal) / mb, "swap_used_mb": float64(now.Memory.SwapUsed) / mb,
		})
	}
	out.Memory.over("used_mb_", past.Memory, mb)
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

// over adds what a figure was over a time.
func (f figures) over(name string, r *monitor.Range, unit float64) {
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
