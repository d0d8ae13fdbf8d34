//go:build linux

package process_test

import (
	"runtime"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

func TestAFloodOfOutputTakesNoMemory(t *testing.T) {
	w := newFixture(t)
	const size = 512 << 20
	r, err := w.Run(t.Context(), w.sh("head -c 536870912 /dev/zero", process.Foreground))
	must(t, err)
	if r.Stdout.Total != size || r.Stdout.Omitted != size-1<<20 || r.Written != size || r.Lost == "" {
		t.Errorf("%d bytes, %d left out, lost %q", r.Stdout.Total, r.Stdout.Omitted, r.Lost)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 24<<20 {
		t.Errorf("%d bytes are in use", m.HeapInuse)
	}
}
