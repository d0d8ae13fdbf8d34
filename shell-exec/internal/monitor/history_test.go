package monitor

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// FuzzHistoryIsThinnedNotFalsified: whatever comes, the past is bounded, without gaps and without doubles, its sums stay,
// and what is told in one is short beside its age.
func FuzzHistoryIsThinnedNotFalsified(f *testing.F) {
	f.Add(uint64(1), 24, 5000)
	f.Add(uint64(2), 3072, 20000)
	f.Add(uint64(3), 0, 300)
	f.Fuzz(func(t *testing.T, seed uint64, samples, n int) {
		samples, n = min(max(samples, 0), 4096), min(max(n, 0), 20000)
		random := rand.New(rand.NewPCG(seed, 0))
		h := newHistory(samples, 1<<60)
		now, begun, used, held := time.Unix(0, 0), time.Unix(0, 0), 0.0, 0.0
		for i := range n {
			s := Sample{Looks: 1, Reported: CPU | Memory, Processes: 1}
			if i > 0 {
				s.Span = time.Duration(1+random.IntN(1000)) * time.Millisecond
				s.CPU.Percent = 400 * random.Float64()
			}
			now = now.Add(s.Span)
			s.Time, s.CPU.Max, s.Memory.Bytes = now, s.CPU.Percent, random.Int64N(1<<30)
			used += s.CPU.Percent * s.Span.Seconds()
			held += float64(s.Memory.Bytes)
			h.add(s)
		}
		all := h.after(time.Time{})
		if len(all) > max(samples, 2*levels) {
			t.Fatalf("%d samples are kept, %d may be", len(all), samples)
		}
		looks, usedNow, heldNow, end := 0, 0.0, 0.0, begun
		for i, s := range all {
			if i > 0 && !s.Time.Add(-s.Span).Equal(end) || s.Time.Before(end) {
				t.Fatalf("sample %d is of %s to %s, the one before ended at %s", i, s.Time.Add(-s.Span), s.Time, end)
			}
			if newer := n - looks - s.Looks; len(all) == samplesOf(h) && s.Looks > max(1, 4*newer/h.width) && newer > 0 {
				t.Errorf("%d looks are told as one, with only %d newer ones", s.Looks, newer)
			}
			end, looks = s.Time, looks+s.Looks
			usedNow += s.CPU.Percent * s.Span.Seconds()
			heldNow += float64(s.Memory.Bytes) * float64(s.Looks)
			if s.CPU.Max < s.CPU.Percent-1e-6 || s.Memory.Max > 1<<30 {
				t.Errorf("the most is less than the mean: %+v", s)
			}
		}
		if n > 0 && !end.Equal(now) {
			t.Errorf("the newest is of %s, not of %s", end, now)
		}
		if looks < n && len(h.level[levels-1]) == 0 {
			t.Errorf("%d of %d looks are lost, though there was room", n-looks, n)
		}
		if looks == n && (math.Abs(usedNow-used) > 1e-6*used+1e-6 || math.Abs(heldNow-held) > float64(n)*levels) {
			t.Errorf("used %f, told %f; held %f, told %f", used, usedNow, held, heldNow)
		}
	})
}

func samplesOf(h *history) (n int) {
	for _, l := range h.level {
		n += len(l)
	}
	return n
}

func TestADayOfTheShortestIntervalIsRememberedInBoundedMemory(t *testing.T) {
	t.Parallel()
	h := newHistory(3072, 24*time.Hour)
	const day = int(24 * time.Hour / MinInterval)
	for i := range day + day/24 {
		h.add(Sample{Time: time.Unix(0, int64(i)*int64(MinInterval)), Span: MinInterval, Looks: 1, Reported: CPU})
	}
	all := h.after(time.Time{})
	if covered := all[len(all)-1].Time.Sub(all[0].Time.Add(-all[0].Span)); covered < 23*time.Hour+30*time.Minute || covered > 24*time.Hour+30*time.Minute {
		t.Errorf("%s are covered", covered)
	}
	if len(all) > 3072 {
		t.Errorf("%d samples are kept", len(all))
	}
	hour := h.after(all[len(all)-1].Time.Add(-time.Hour))
	if longest := hour[0].Span; longest > time.Minute || len(hour) < 1000 {
		t.Errorf("the last hour is %d samples, the longest of %s", len(hour), longest)
	}
}
