package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// watch tells when other processes use the machine: the kernel says how long all
// processors were busy (or taken away from a virtual machine), and how much of that
// was this program, what it started and what ended.
type watch struct {
	busy   func() time.Duration // of all processors
	ours   func() time.Duration
	length time.Duration // of a window
}

// A window is long enough for clocks that tick every 10 ms; others may use a quarter
// of one processor in it.
const (
	windowLength = 250 * time.Millisecond
	windowOthers = 0.25
)

type window struct {
	watch      *watch
	began      time.Time
	busy, ours time.Duration
}

func (w *watch) open() window { return window{w, time.Now(), w.busy(), w.ours()} }

func (w window) short() bool { return time.Since(w.began) < w.watch.length }

func (w window) disturbed() bool {
	others := w.watch.busy() - w.busy - (w.watch.ours() - w.ours)
	return othersUsed(others, time.Since(w.began))
}

func othersUsed(others, wall time.Duration) bool {
	const ticks = 30 * time.Millisecond // what clocks that tick may be wrong by
	return others > time.Duration(windowOthers*float64(wall))+ticks
}

// tick is the unit of /proc, USER_HZ on every Linux.
const tick = 10 * time.Millisecond

// machineBusy is 0 where there is no /proc: then nothing counts as disturbed.
func machineBusy() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return busyIn(string(b))
}

// busyIn adds what is not idle in the first line of /proc/stat.
func busyIn(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	const idle, iowait, guest = 4, 5, 9 // fields; guest time is in user time already
	var sum time.Duration
	for i, f := range strings.Fields(line) {
		if i == 0 || i == idle || i == iowait || i >= guest {
			continue
		}
		n, _ := strconv.Atoi(f)
		sum += time.Duration(n) * tick
	}
	return sum
}

// timeOf is the processor time of a process that runs, and of its children that ended.
func timeOf(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), ") ") // a name may hold anything
	const utime, cstime = 11, 14                // fields, counted from the state
	var sum time.Duration
	for i, f := range strings.Fields(after) {
		if i >= utime && i <= cstime {
			n, _ := strconv.Atoi(f)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
