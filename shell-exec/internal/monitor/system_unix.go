//go:build !windows

package monitor

import "github.com/shirou/gopsutil/v4/load"

func loadNow() *Load {
	l, err := load.Avg()
	if err != nil {
		return nil
	}
	return &Load{One: l.Load1, Five: l.Load5, Fifteen: l.Load15}
}
