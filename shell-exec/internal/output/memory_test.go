package output_test

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// peak is how much memory the runtime had at most while work went on.
func peak(work func()) uint64 {
	debug.FreeOSMemory() // what other tests left
	done := make(chan struct{})
	var most uint64
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			most = max(most, inUse())
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	work()
	close(done)
	watch.Wait()
	return most
}

func inUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
