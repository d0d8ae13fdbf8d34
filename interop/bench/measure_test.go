package main

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestMedians(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 100}, 3.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestAGoalIsJudgedAgainstTheBestOfItsPeers(t *testing.T) {
	cells := []cell{
		{Side: "ours", Median: 6, Samples: 9}, {Side: "slow", Median: 20, Samples: 9}, {Side: "fast", Median: 10, Samples: 9},
		{Side: "failed", Failed: "it did"}, {Side: "unasked", Median: 1, Samples: 9},
	}
	for _, c := range []struct {
		name  string
		goal  goal
		want  float64
		known bool
		held  bool
	}{
		{"of the best", goal{of: []string{"slow", "fast", "failed"}, most: 0.65}, 0.6, true, true},
		{"just missed", goal{of: []string{"fast"}, most: 0.59}, 0.6, true, false},
		{"in its own unit", goal{most: 6}, 6, true, true},
		{"more than another", goal{minus: "unasked", most: 4}, 5, true, false},
		{"only compared", goal{of: []string{"slow"}}, 0.3, true, false},
		{"of one that failed", goal{of: []string{"failed"}, most: 1}, 0, false, false},
		{"of nobody", goal{of: []string{"stranger"}, most: 1}, 0, false, false},
		{"more than one that failed", goal{minus: "failed", most: 1}, 0, false, false},
	} {
		v := c.goal.judge("ms", cells)
		if math.Abs(v.Measured-c.want) > 1e-9 || v.Known != c.known || v.promised() && v.held() != c.held {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	cells[0] = cell{Side: "ours", Failed: "it did"}
	if v := (goal{most: 6}).judge("ms", cells); v.Known || v.held() {
		t.Errorf("a side of ours that failed holds its goal: %+v", v)
	}
}

// counted is a side that gives 1, 2, 3 …
func counted(name string) side {
	n := 0.0
	return side{name, func(int) (sample, error) { n++; return sample{n, "same"}, nil }}
}

// disturbedIn is a watch over a machine on which others are busy in the given windows.
func disturbedIn(windows ...bool) *watch {
	calls := 0
	return &watch{
		busy: func() time.Duration {
			calls++ // twice a window
			if calls%2 == 0 && calls/2 <= len(windows) && windows[calls/2-1] {
				return time.Hour
			}
			return 0
		},
		ours:   func() time.Duration { return 0 },
		length: time.Millisecond,
	}
}

// slowly makes a round as long as a window.
func slowly(s side) side {
	return side{s.name, func(round int) (sample, error) {
		time.Sleep(2 * time.Millisecond)
		return s.take(round)
	}}
}

func TestDisturbedSamplesAreTakenAgain(t *testing.T) {
	for _, c := range []struct {
		name             string
		windows          []bool
		spare            int
		again, disturbed int
		median           float64
	}{
		{"a quiet machine", nil, 3, 0, 0, 1.5},
		{"the first was disturbed", []bool{true}, 3, 1, 0, 2.5},
		{"more than may be taken again", []bool{true, true, true, true}, 1, 1, 2, 2.5},
	} {
		r := measurement{sides: []side{slowly(counted("ours"))}}.alternate(2, c.spare, disturbedIn(c.windows...))
		if r.Again != c.again || r.Disturbed != c.disturbed || r.Cells[0].Median != c.median || r.Cells[0].Samples != 2 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestSidesTakeTurns(t *testing.T) {
	order := ""
	named := func(name string) side {
		return side{name, func(int) (sample, error) { order += name; return sample{}, nil }}
	}
	measurement{warm: 1, sides: []side{named("a"), named("b")}}.alternate(2, 0, disturbedIn())
	if order != "ababab" {
		t.Errorf("order %s", order)
	}
}

func TestASideThatFailsDropsOut(t *testing.T) {
	calls := 0
	fails := side{"theirs", func(round int) (sample, error) {
		calls++
		return sample{}, errors.New("no")
	}}
	r := measurement{sides: []side{counted("ours"), fails}, goals: []goal{{of: []string{"theirs"}, most: 1}}}.alternate(5, 0, disturbedIn())
	if calls != 1 || r.Cells[1].Failed != "no" || r.Cells[1].Samples != 0 || r.Cells[0].Samples != 5 || r.Verdicts[0].Known {
		t.Errorf("%d calls, %+v", calls, r)
	}
}

func TestBusyTimeLeavesOutIdleAndGuests(t *testing.T) {
	const stat = "cpu  10 20 30 4000 500 6 7 8 900 1000\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
	if got := busyIn(stat); got != (10+20+30+6+7+8)*tick {
		t.Errorf("busy %v", got)
	}
}

func TestOthersMayUseAQuarterOfAProcessor(t *testing.T) {
	for _, c := range []struct {
		others, wall time.Duration
		want         bool
	}{{0, time.Second, false}, {200 * time.Millisecond, time.Second, false}, {300 * time.Millisecond, time.Second, true}, {-time.Second, time.Second, false}} {
		if got := othersUsed(c.others, c.wall); got != c.want {
			t.Errorf("%v of %v: %v", c.others, c.wall, got)
		}
	}
}
