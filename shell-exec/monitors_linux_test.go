package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// What a monitor was not asked for is left out, and not told as 0.
func TestAMonitorTellsOnlyWhatItMeasured(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := h.start()
	e := h.call(c, "shell_execute", map[string]any{"command": "while :; do :; done", "execution_mode": "background"})
	h.call(c, "process_monitor", map[string]any{"process_id": e.PID, "monitor_interval_ms": 100, "include_metrics": []string{"memory"}})
	var stats struct {
		Monitors map[string]map[string]float64 `json:"monitors"`
	}
	h.until("it has looked twice", func() bool {
		if err := c.Call("monitoring_get_stats", map[string]any{}).Decode(&stats); err != nil {
			t.Fatal(err)
		}
		for _, f := range stats.Monitors {
			return f["memory_mb_mean"] > 0 && f["span_ms"] > 0
		}
		return false
	})
	for id, f := range stats.Monitors {
		names := slices.Sorted(maps.Keys(f))
		if got := strings.Join(names, " "); got != "memory_mb memory_mb_mean memory_mb_most process_id processes processes_most span_ms" {
			t.Errorf("%s tells %s", id, got)
		}
	}
}
