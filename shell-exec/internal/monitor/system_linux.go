package monitor

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is that of the kernel, time asleep included.
func uptime(time.Time) time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
