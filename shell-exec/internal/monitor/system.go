package monitor

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Stats are figures of the whole system at a moment. A nil part is not reported by this system.
type Stats struct {
	Time        time.Time
	Processors  int // that this server may use
	Load        *Load
	Memory      *MemoryUse
	Disks       []Disk        // those whose figures the system reports
	Uptime      time.Duration // of the machine; 0: not reported
	ServerSince time.Duration // how long this server runs
}

// Load is how many processes ran or wanted to, on average. Windows does not count that.
type Load struct{ One, Five, Fifteen float64 }

// MemoryUse is bytes of main memory and of swap. Available is what programs could have without swapping.
type MemoryUse struct{ Total, Available, Used, SwapTotal, SwapUsed uint64 }

// Disk is bytes of the file system that holds a directory. Free is what this server's user may use.
type Disk struct {
	Path              string
	Total, Used, Free uint64
}

// Range is a figure over a time.
type Range struct{ Min, Mean, Max float64 }

// Past are figures over a time. The figure of a minute is what it was at one moment of it.
type Past struct {
	Since   time.Time // the oldest moment known
	Moments int       // how many, now included; 1: only now
	Load    *Range    // Load.One
	Memory  *Range    // MemoryUse.Used, in bytes
}

// What the past takes.
const (
	pulse    = time.Minute
	lifetime = 24 * time.Hour // of the past; and so long it is kept up when nobody asks
)

// moment is what the past is made of: 1,440 of them are some 60 KB.
type moment struct {
	time             time.Time
	load, memory     float64
	loaded, measured bool
}

// System looks at the system. Nothing is looked at before somebody asks; from then on a goroutine looks once a minute,
// until nobody has asked for a day.
type System struct {
	dirs    []string
	started time.Time
	now     func() time.Time

	mu        sync.Mutex
	past      []moment // the oldest first
	lastAsked time.Time
	quit      chan struct{}
	closed    bool
	loop      sync.WaitGroup
}

// NewSystem looks at the system, and at the disks that the directories are on. The server is said to run from now on.
func NewSystem(dirs []string) *System { return newSystem(dirs, time.Now) }

func newSystem(dirs []string, now func() time.Time) *System {
	return &System{dirs: dirs, started: now(), now: now}
}

// Stats are the figures now, and those of the time since then: 0 or less is all that is known.
func (s *System) Stats(since time.Duration) (Stats, Past, error) {
	now := s.now()
	at := s.measure(now)
	for _, dir := range s.dirs {
		if d, err := disk.Usage(dir); err == nil {
			at.Disks = append(at.Disks, Disk{Path: dir, Total: d.Total, Used: d.Used, Free: d.Free})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Stats{}, Past{}, fault.New(fault.Unavailable, "the server is about to end", "")
	}
	s.lastAsked = now
	if s.quit == nil {
		s.quit = make(chan struct{})
		s.loop.Add(1)
		go s.run(s.quit)
	}
	then := now.Add(-lifetime)
	if since > 0 {
		then = now.Add(-min(since, lifetime))
	}
	from := slices.IndexFunc(s.past, func(m moment) bool { return !m.time.Before(then) })
	if from < 0 {
		from = len(s.past)
	}
	return at, summed(append(slices.Clone(s.past[from:]), at.moment())), nil
}

// Close ends the goroutine.
func (s *System) Close() {
	s.mu.Lock()
	s.closed = true
	s.rest()
	s.mu.Unlock()
	s.loop.Wait()
}

// rest stops the pulse and forgets the past.
func (s *System) rest() {
	if s.quit != nil {
		close(s.quit)
		s.quit, s.past = nil, nil
	}
}

func (s *System) run(quit chan struct{}) {
	defer s.loop.Done()
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	s.note(quit, s.measure(s.now()).moment())
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			s.note(quit, s.measure(s.now()).moment())
		}
	}
}

// note remembers a moment, forgets the oldest, and ends the pulse when nobody has asked for long.
func (s *System) note(quit chan struct{}, m moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quit != quit {
		return
	}
	if m.time.Sub(s.lastAsked) > lifetime {
		s.rest()
		return
	}
	s.past = append(s.past, m)
	if n := len(s.past) - int(lifetime/pulse); n > 0 {
		s.past = slices.Delete(s.past, 0, n)
	}
}

// measure is all but the disks.
func (s *System) measure(now time.Time) Stats {
	out := Stats{Time: now, Processors: runtime.NumCPU(), Load: loadNow(), Uptime: uptime(now), ServerSince: now.Sub(s.started)}
	if m, err := mem.VirtualMemory(); err == nil {
		out.Memory = &MemoryUse{Total: m.Total, Available: m.Available, Used: m.Used}
		if swap, err := mem.SwapMemory(); err == nil {
			out.Memory.SwapTotal, out.Memory.SwapUsed = swap.Total, swap.Used
		}
	}
	return out
}

func (s Stats) moment() moment {
	m := moment{time: s.Time}
	if s.Load != nil {
		m.load, m.loaded = s.Load.One, true
	}
	if s.Memory != nil {
		m.memory, m.measured = float64(s.Memory.Used), true
	}
	return m
}

// summed is the range of moments, of which there is one at least.
func summed(all []moment) Past {
	p := Past{Since: all[0].time, Moments: len(all)}
	p.Load = ranged(all, func(m moment) (float64, bool) { return m.load, m.loaded })
	p.Memory = ranged(all, func(m moment) (float64, bool) { return m.memory, m.measured })
	return p
}

// ranged is the range of one figure; nil where no moment has it.
func ranged(all []moment, figure func(moment) (float64, bool)) *Range {
	var r Range
	n := 0.0
	for _, m := range all {
		v, ok := figure(m)
		if !ok {
			continue
		}
		if n == 0 {
			r = Range{Min: v, Max: v}
		}
		n++
		r.Min, r.Max, r.Mean = min(r.Min, v), max(r.Max, v), r.Mean+(v-r.Mean)/n
	}
	if n == 0 {
		return nil
	}
	return &r
}
