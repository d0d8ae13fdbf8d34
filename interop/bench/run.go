package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

const byHand = "fork and exec from Go"

// runPeer is other people's server that runs commands.
type runPeer struct {
	name string
	argv []string
	tool string
}

// runPeers are those that are installed. Desktop Commander is not among them: at its
// start it looks for the network and installs a browser.
func (w *world) runPeers() []runPeer {
	var all []runPeer
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
		entry := filepath.Join(w.peers, p.entry)
		if w.there(p.name, entry, filepath.Join(w.peers, p.needs)) {
			all = append(all, runPeer{p.name, append(p.env, w.node, entry), p.tool})
		}
	}
	return all
}

// running compares commands by a call with the same ones started by hand, and with
// other people's servers.
func running(w *world) ([]measurement, error) {
	var all []measurement
	for _, job := range []struct {
		name, command  string
		atOnce, times  int
		ofHand, ofPeer float64
	}{
		{"`echo hi`", "echo hi", 1, w.calls / 10, 1.3, 0.4},
		{"`seq 100000`", "seq 100000", 1, w.calls / 20, 0, 0},
		{"50 at once: `sleep 0.2; echo hi`", "sleep 0.2; echo hi", 50, w.samples, 0, 0},
	} {
		m := measurement{name: job.name, unit: "ms", samples: max(job.times, 3), warm: max(job.times/10, 1)}
		add := func(name string, do func() error) {
			m.sides = append(m.sides, side{name, func(int) (sample, error) {
				began := time.Now()
				err := atOnce(job.atOnce, job.atOnce, do)
				return sample{value: ms(time.Since(began))}, err
			}})
		}
		serve := func(name, tool string, argv []string) error {
			c, err := w.serve(argv...)
			if err != nil {
				return err
			}
			c.concurrent()
			add(name, func() error {
				_, _, err := c.call(toolCall(tool, map[string]any{"command": job.command}))
				return err
			})
			return nil
		}
		if err := serve("shell-exec", "shell_exec", w.shellExec()); err != nil {
			return nil, err
		}
		if err := serve("shell-exec --sandbox off", "shell_exec", w.shellExec("--sandbox", "off")); err != nil {
			return nil, err
		}
		add(byHand, func() error {
			_, err := exec.Command("bash", "--noprofile", "--norc", "-c", job.command).Output()
			return err
		})
		peers := goal{word: "the best peer", most: job.ofPeer}
		for _, p := range w.runPeers() {
			if err := serve(p.name, p.tool, p.argv); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			peers.of = append(peers.of, p.name)
		}
		m.goals = []goal{{word: byHand, of: []string{byHand}, most: job.ofHand}, peers}
		all = append(all, m)
	}
	return all, nil
}

// flooded is the peak of a server's memory while a command writes 1 GB.
func (w *world) flooded() measurement {
	m := measurement{name: "peak: shell-exec while a command writes 1 GB", unit: "MB", samples: 1, goals: []goal{{most: 32}}}
	add := func(name, tool string, argv []string) {
		m.sides = append(m.sides, side{name, func(int) (sample, error) {
			c, err := w.start(argv...)
			if err != nil {
				return sample{}, err
			}
			defer w.end(c)
			hung := time.AfterFunc(40*time.Second, c.kill)
			defer hung.Stop()
			_, _, err = c.call(toolCall(tool, map[string]any{"command": `head -c 1G /dev/zero | tr '\0' a`}))
			return sample{value: c.memory("VmHWM")}, err
		}})
	}
	add("ours", "shell_exec", w.shellExec())
	for _, p := range w.runPeers() {
		add(p.name, p.tool, p.argv)
	}
	return m
}
