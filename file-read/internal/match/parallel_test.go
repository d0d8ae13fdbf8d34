package match

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
)

func upTo(n int) func() (int, bool) {
	i := -1
	return func() (int, bool) { i++; return i, i < n }
}

func TestResultsComeInOrder(t *testing.T) {
	want := 0
	parallel(t.Context(), 4, upTo(1000), func(_ context.Context, i int) int {
		if i%7 == 0 {
			runtime.Gosched()
		}
		return i * i
	}, func(r int) bool {
		if r != want*want {
			t.Errorf("%d came for %d", r, want)
		}
		want++
		return true
	})
	if want != 1000 {
		t.Errorf("%d came", want)
	}
}

func TestNothingIsFarAheadAndNothingIsLeftRunning(t *testing.T) {
	var begun, running atomic.Int32
	taken := int32(0)
	parallel(t.Context(), 3, upTo(1000), func(ctx context.Context, i int) int {
		running.Add(1)
		defer running.Add(-1)
		if begun.Add(1); i > 100 {
			<-ctx.Done()
		}
		return i
	}, func(r int) bool {
		taken++
		if far := begun.Load() - taken; far > 6 {
			t.Errorf("%d ahead", far)
		}
		return r < 100
	})
	if taken != 101 || running.Load() != 0 {
		t.Errorf("%d taken, %d left running", taken, running.Load())
	}
}

func TestAContextThatEndsEndsTheWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	parallel(ctx, 2, upTo(1000), func(_ context.Context, i int) int {
		if i == 10 {
			cancel()
		}
		return i
	}, func(int) bool { taken++; return true })
	if taken == 0 || taken > 12 {
		t.Errorf("%d taken", taken)
	}
}

func TestAPanicComesThrough(t *testing.T) {
	defer func() {
		if recover() != "job 5" {
			t.Error("no panic")
		}
	}()
	parallel(t.Context(), 2, upTo(10), func(_ context.Context, i int) int {
		if i == 5 {
			panic("job 5")
		}
		return i
	}, func(int) bool { return true })
}
