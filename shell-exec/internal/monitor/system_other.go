//go:build !linux && !windows

package monitor

import (
	"time"

	"github.com/shirou/gopsutil/v4/host"
)

func uptime(now time.Time) time.Duration {
	booted, err := host.BootTime()
	if err != nil {
		return 0
	}
	return now.Sub(time.Unix(int64(booted), 0))
}
