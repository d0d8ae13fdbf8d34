package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// runner is a server that runs commands. The first of a list, without argv, is the
// yardstick: the same shell started by hand.
type runner struct {
	name string
	argv []string
	tool string
	dir  string // where a peer is started; ours are started here
}

const byHand = "fork and exec of bash -c from Go"

// running is what was measured of the runners. A value that could not be had is NaN,
// and a note says why.
type running struct {
	names []string
	rows  []row
	notes []string
}

// runners are the contenders in the order of the columns, ours at 1 and 2.
func runners(w world, ours, node, peers string) (all []runner, notes []string) {
	line := []string{ours, "--allow-path", w.dir, "--audit-log", filepath.Join(w.state, "audit.jsonl")}
	if whole, err := filepath.Abs(peers); err == nil {
		peers = whole
	}
	all = []runner{
		{name: byHand},
		{"shell-exec", line, "shell_exec", ""},
		{"shell-exec --sandbox off", append(line[:len(line):len(line)], "--sandbox", "off"), "shell_exec", ""},
	}
	for _, p := range []struct {
		name, entry, tool, needs string
		env                      []string
	}{
		{name: "mcp-server-commands", entry: "mcp-server-commands/build/index.js", tool: "run_command"},
		// Unless told not to, it asks the model of the client about each command.
		{name: "mcp-shell-server", entry: "@mako10k/mcp-shell-server/dist/index.js", tool: "shell_execute",
			needs: "node-pty/build/Release/pty.node",
			env:   []string{"env", "MCP_SHELL_ENHANCED_MODE=false", "MCP_SHELL_LLM_EVALUATION=false"}},
	} {
		missing := ""
		for _, file := range []string{p.entry, p.needs} {
			if _, err := os.Stat(filepath.Join(peers, file)); err != nil {
				missing = file
			}
		}
		if missing != "" {
			notes = append(notes, p.name+" is left out: "+missing+" is not installed")
			continue
		}
		all = append(all, runner{p.name, append(p.env, node, filepath.Join(peers, p.entry)), p.tool, w.dir})
	}
	return all, notes
}

// run is the command through the runner's server, or by hand.
func (r runner) run(cl *client, command string) error {
	if r.argv == nil {
		return exec.Command("bash", "--noprofile", "--norc", "-c", command).Run()
	}
	return cl.tool(r.tool, map[string]any{"command": command})
}

// begin starts a server that is killed if it is still there after the given time.
func (r runner) begin(longest time.Duration) (*client, func(), error) {
	if r.argv == nil {
		return nil, func() {}, nil
	}
	cl, err := startIn(r.dir, r.argv)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.name, err)
	}
	hung := time.AfterFunc(longest, func() { cl.cmd.Process.Kill() })
	return cl, func() {
		hung.Stop()
		stubborn := time.AfterFunc(500*time.Millisecond, func() { cl.cmd.Process.Kill() })
		defer stubborn.Stop()
		cl.stop()
	}, nil
}

// measureRunning compares commands through tools/call with the same ones started by
// hand, and with other people's servers.
func measureRunning(w world, ours, node, peers string, starts, calls int) (running, error) {
	var found running
	if _, err := os.Stat(ours); err != nil {
		fmt.Fprintln(os.Stderr, "bench: shell-exec is not built; it is not measured")
		return found, nil
	}
	if err := os.Setenv("XDG_STATE_HOME", w.state); err != nil {
		return found, err
	}
	all, notes := runners(w, ours, node, peers)
	found.notes = notes
	for _, r := range all {
		found.names = append(found.names, r.name)
	}
	for _, measure := range []func() (row, []string, error){
		func() (row, []string, error) { return inTurn("`echo hi`", "echo hi", all, 1, calls) },
		func() (row, []string, error) { return inTurn("`seq 100000`", "seq 100000", all, 1, calls/2) },
		func() (row, []string, error) {
			return inTurn("50 at once: `sleep 0.2; echo hi`", "sleep 0.2; echo hi", all, 50, max(starts*3/5, 3))
		},
		func() (row, []string, error) { return greeting(all, starts) },
		func() (row, []string, error) { return resting(all) },
		func() (row, []string, error) { return flooded(all) },
	} {
		r, notes, err := measure()
		if err != nil {
			return found, err
		}
		fmt.Fprintln(os.Stderr, "bench: run", r.name)
		found.rows = append(found.rows, r)
		found.notes = append(found.notes, notes...)
	}
	return found, nil
}

// inTurn lets the runners take turns at a number of the same command at once. A peer
// that fails drops out; ours may not.
func inTurn(name, command string, all []runner, atOnce, times int) (row, []string, error) {
	samples, out, notes := make([][]float64, len(all)), make([]bool, len(all)), []string(nil)
	clients := make([]*client, len(all))
	for i, r := range all {
		cl, end, err := r.begin(5 * time.Minute)
		if err != nil {
			return row{}, nil, err
		}
		defer end()
		if cl != nil && atOnce > 1 {
			cl.concurrent()
		}
		clients[i] = cl
	}
	warm := min(times/3, 20)
	for n := range times + warm {
		for i, r := range all {
			if out[i] {
				continue
			}
			t := time.Now()
			err := together(atOnce, func() error { return r.run(clients[i], command) })
			switch {
			case err != nil && i <= 2:
				return row{}, nil, fmt.Errorf("%s: %s: %w", r.name, command, err)
			case err != nil:
				out[i], samples[i] = true, nil
				notes = append(notes, refusal(r, name, err))
			case n >= warm:
				samples[i] = append(samples[i], ms(time.Since(t)))
			}
		}
	}
	return row{name, "ms", known(samples)}, notes, nil
}

func together(n int, do func() error) error {
	if n == 1 {
		return do()
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for range n {
		wg.Go(func() { errs <- do() })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// greeting times the start up to the answer of initialize; by hand there is none.
func greeting(all []runner, times int) (row, []string, error) {
	samples := make([][]float64, len(all))
	for range times {
		for i, r := range all[1:] {
			t := time.Now()
			_, end, err := r.begin(time.Minute)
			if err != nil {
				return row{}, nil, err
			}
			samples[i+1] = append(samples[i+1], ms(time.Since(t)))
			end()
		}
	}
	return row{"start to the answer of initialize", "ms", known(samples)}, nil, nil
}

func resting(all []runner) (row, []string, error) {
	values := []float64{math.NaN()}
	for _, r := range all[1:] {
		cl, end, err := r.begin(time.Minute)
		if err != nil {
			return row{}, nil, err
		}
		_, err = cl.call("tools/list", map[string]any{})
		time.Sleep(200 * time.Millisecond)
		values = append(values, mb(cl.memory("VmRSS")))
		end()
		if err != nil {
			return row{}, nil, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return row{"resident memory after the start", "MB", values}, nil, nil
}

// flooded tells the peak of a server's memory while a command writes 1 GB.
func flooded(all []runner) (row, []string, error) {
	const name, command = "peak resident memory while a command writes 1 GB", `head -c 1G /dev/zero | tr '\0' a`
	values, notes := []float64{math.NaN()}, []string(nil)
	for i, r := range all[1:] {
		cl, end, err := r.begin(40 * time.Second)
		if err != nil {
			return row{}, nil, err
		}
		err = r.run(cl, command)
		peak := mb(cl.memory("VmHWM"))
		end()
		if err != nil && i < 2 {
			return row{}, nil, fmt.Errorf("%s: %s: %w", r.name, command, err)
		}
		if err != nil {
			peak = math.NaN()
			notes = append(notes, refusal(r, name, err))
		}
		values = append(values, peak)
	}
	return row{name, "MB", values}, notes, nil
}

func refusal(r runner, what string, err error) string {
	return fmt.Sprintf("%s did not do it (%s): `%.150s`", r.name, what, err)
}

// known are the medians, NaN where there are no samples.
func known(samples [][]float64) []float64 {
	values := medians(samples)
	for i, s := range samples {
		if len(s) == 0 {
			values[i] = math.NaN()
		}
	}
	return values
}
