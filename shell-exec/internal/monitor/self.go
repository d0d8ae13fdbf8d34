package monitor

import (
	"os"
	"runtime"
	"runtime/metrics"
)

// Self is what this process has at a moment.
type Self struct {
	Goroutines  int
	Descriptors int   // 0: this system does not report them
	Heap        int64 // bytes that were in use at the last garbage collection
}

// OfSelf looks at this process.
func OfSelf() Self {
	s := Self{Goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Descriptors = len(open) - 1 // the one that reads them
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		s.Heap = int64(live[0].Value.Uint64())
	}
	return s
}
