//go:build !linux

package monitor

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// systemEyes sees what these systems report without cgo: neither sockets nor what ended children used.
func systemEyes() eyes {
	return eyes{look: look, clock: clock, sockets: func([]int) (Sockets, bool) { return Sockets{}, false }}
}

func clock() int64 { return time.Now().UnixMilli() }

func look(pid int, m Metrics) (reading, bool) {
	p := process.Process{Pid: int32(pid)}
	start, err := p.CreateTime()
	if err != nil {
		return reading{}, false
	}
	r := reading{start: start}
	if parent, err := p.Ppid(); err == nil {
		r.parent = int(parent)
	}
	if times, err := p.Times(); err == nil {
		r.own = time.Duration((times.User + times.System) * float64(time.Second))
		r.shown |= CPU
	}
	if memory, err := p.MemoryInfo(); err == nil {
		r.memory = int64(memory.RSS)
		r.shown |= Memory
	}
	if !m.Has(IO) {
		return r, true
	}
	if io, err := p.IOCounters(); err == nil {
		r.moved = moved{read: int64(io.ReadBytes), written: int64(io.WriteBytes)}
		r.shown |= IO
	}
	return r, true
}
