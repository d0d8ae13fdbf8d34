package monitor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
)

func TestTheSystemIsLookedAtOnlyOnceSomebodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSystem([]string{t.TempDir(), "/nowhere/at/all"})
		defer s.Close()
		time.Sleep(3 * time.Hour)
		at, past, err := s.Stats(time.Hour)
		if err != nil || past.Moments != 1 || at.ServerSince != 3*time.Hour {
			t.Errorf("%+v, %+v, %v", at, past, err)
		}
		time.Sleep(2*time.Hour + time.Second)
		if _, past, _ = s.Stats(time.Hour); past.Moments < 60 || past.Moments > 62 {
			t.Errorf("an hour is %d moments", past.Moments)
		}
		if _, past, _ = s.Stats(0); past.Moments != 122 {
			t.Errorf("all is %d moments", past.Moments)
		}
	})
}

func TestThePastOfTheSystemIsBoundedAndEndsWhenNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		s := NewSystem(nil)
		quit := make(chan struct{})
		s.quit = quit
		for i := range 3000 {
			s.lastAsked = now
			s.note(quit, moment{time: now.Add(time.Duration(i) * time.Second), load: float64(i), loaded: true})
		}
		if len(s.past) != 1440 || s.past[0].load != 1560 {
			t.Errorf("%d moments, from %v", len(s.past), s.past[0])
		}
		if p := summed(s.past); p.Load.Min != 1560 || p.Load.Max != 2999 || p.Load.Mean < 2279 || p.Load.Mean > 2280 || p.Memory != nil {
			t.Errorf("%+v", p.Load)
		}
		s.note(quit, moment{time: now.Add(lifetime + time.Second)})
		if s.quit != nil || len(s.past) != 0 {
			t.Error("nobody has asked for a day, and it goes on")
		}
		s.Close()
		_, _, err := s.Stats(0)
		refuses(t, err, fault.Unavailable)
	})
}

func TestTheSystemTellsWhatIsTrue(t *testing.T) {
	s := NewSystem([]string{t.TempDir()})
	defer s.Close()
	at, _, err := s.Stats(0)
	if err != nil || at.Processors < 1 || at.Uptime <= 0 || at.Memory == nil || at.Memory.Total < 1<<20 || at.Memory.Available > at.Memory.Total {
		t.Errorf("%+v, memory %+v, %v", at, at.Memory, err)
	}
	if len(at.Disks) != 1 || at.Disks[0].Total == 0 || at.Disks[0].Free > at.Disks[0].Total {
		t.Errorf("disks %+v", at.Disks)
	}
}
