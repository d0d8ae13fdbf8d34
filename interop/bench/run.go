package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// measureRunning compares a command through tools/call with the same one started by
// hand.
func measureRunning(w world, ours string, calls int) ([]string, []row, error) {
	if _, err := os.Stat(ours); err != nil {
		fmt.Fprintln(os.Stderr, "bench: shell-exec is not built; it is not measured")
		return nil, nil, nil
	}
	if err := os.Setenv("XDG_STATE_HOME", w.state); err != nil {
		return nil, nil, err
	}
	line := []string{ours, "--allow-path", w.dir, "--audit-log", filepath.Join(w.state, "audit.jsonl")}
	held, err := start(line)
	if err != nil {
		return nil, nil, err
	}
	defer held.stop()
	loose, err := start(append(line, "--sandbox", "off"))
	if err != nil {
		return nil, nil, err
	}
	defer loose.stop()
	var rows []row
	for _, command := range []string{"echo hi", "seq 100000"} {
		fmt.Fprintln(os.Stderr, "bench: run", command)
		r, err := compareRunning(command, []*client{held, loose}, calls)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, r)
	}
	return []string{"fork and exec of bash -c from Go", "shell-exec", "shell-exec --sandbox off"}, rows, nil
}

func compareRunning(command string, servers []*client, calls int) (row, error) {
	samples := make([][]float64, 1+len(servers))
	for n := range calls + 20 {
		for i := range samples {
			t := time.Now()
			var err error
			if i == 0 {
				_, err = exec.Command("bash", "--noprofile", "--norc", "-c", command).Output()
			} else {
				err = servers[i-1].tool("shell_exec", map[string]any{"command": command})
			}
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", command, err)
			}
			if n >= 20 { // warm
				samples[i] = append(samples[i], ms(time.Since(t)))
			}
		}
	}
	return row{"`" + command + "`", "ms", medians(samples)}, nil
}
