package monitor

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// systemEyes sees through /proc.
func systemEyes() eyes { return eyes{look: look, clock: boottime, sockets: sockets} }

// boottime is the clock in which /proc says when processes began, in its ticks.
func boottime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0 // then no process is proven, and none is counted
	}
	return now.Nano() / int64(time.Second/procfs.TicksPerSecond)
}

// look reads what /proc says of a process.
func look(pid int, m Metrics) (reading, bool) {
	s, ok := procfs.Read(pid)
	if !ok {
		return reading{}, false
	}
	r := reading{start: s.Start, parent: s.Parent, ended: s.Ended(), own: s.Own, children: s.Children, memory: s.Resident, shown: CPU | Memory}
	if m.Has(IO) {
		var buf [1024]byte
		if text, err := procfs.Beginning("/proc/"+strconv.Itoa(pid)+"/io", buf[:]); err == nil && len(text) > 0 {
			r.shown |= IO
			for line := range bytes.Lines(text) {
				key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
				n, _ := strconv.ParseInt(string(value), 10, 64)
				switch string(key) {
				case "rchar":
					r.moved.read = n
				case "wchar":
					r.moved.written = n
				case "read_bytes":
					r.moved.storageRead = n
				case "write_bytes":
					r.moved.storageWritten = n
				}
			}
		}
	}
	return r, true
}
