// Command bench measures the servers of this project beside other people's, in
// one run, and writes what it found as Markdown. It asserts nothing: a number is
// for a reader, and every number stands beside that of a peer from the same run.
//
// Samples of two servers alternate, so that a machine whose speed drifts slows
// both; the median of each is told, and the ratio of the medians.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	reads := flag.String("file-read", "dist/file-read", "our reading binary")
	writes := flag.String("file-write", "dist/file-write", "our writing binary")
	runs := flag.String("shell-exec", "dist/shell-exec", "our running binary")
	peer := flag.String("peer", "interop/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "the reference server")
	peers := flag.String("peers", "interop/bench/peers/node_modules", "the peers that run commands")
	node := flag.String("node", "node", "the node that runs it")
	times := flag.Int("n", 15, "samples of each start")
	calls := flag.Int("calls", 2000, "calls of each kind")
	out := flag.String("o", "docs/benchmarks.md", "where to write")
	flag.Parse()
	if err := run(binaries{*reads, *writes, *runs}, *node, *peer, *peers, *times, *calls, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// contender is a server to be measured: how to start it, and what its tools are
// called.
type contender struct {
	name     string
	argv     []string
	readTool string
	listTool string
	listArg  string
}

// binaries are our servers.
type binaries struct{ read, write, run string }

func run(ours binaries, node, peer, peers string, runs, calls int, out string) error {
	world, err := newWorld()
	if err != nil {
		return err
	}
	defer os.RemoveAll(world.dir)
	servers := []contender{{
		name: "file-read", argv: []string{ours.read, "--allow-path", world.dir, "--audit-log", filepath.Join(world.state, "audit.jsonl")},
		readTool: "file_read", listTool: "list_directory", listArg: "dir_path",
	}}
	if _, err := os.Stat(peer); err == nil {
		servers = append(servers, contender{
			name: "server-filesystem", argv: []string{node, peer, world.dir},
			readTool: "read_text_file", listTool: "list_directory_with_sizes", listArg: "path",
		})
	} else {
		fmt.Fprintln(os.Stderr, "bench: the reference server is not installed; its column stays empty")
	}
	defer os.RemoveAll(world.state)
	var rows []row
	for _, job := range jobs(world, runs, calls) {
		fmt.Fprintln(os.Stderr, "bench:", job.name)
		r, err := job.measure(servers)
		if err != nil {
			return fmt.Errorf("%s: %w", job.name, err)
		}
		rows = append(rows, r)
	}
	limits, err := measureLimits(servers[0], world)
	if err != nil {
		return err
	}
	searches, err := measureSearch(ours.read, runs)
	if err != nil {
		return err
	}
	doers, writing, err := measureWriting(world, ours.write, node, peer, calls/10)
	if err != nil {
		return err
	}
	commands, err := measureRunning(world, ours.run, node, peers, runs, calls/10)
	if err != nil {
		return err
	}
	text := page(servers, rows, limits, searches) + writingTable(doers, writing) + runningTable(commands)
	return os.WriteFile(out, []byte(text), 0o644)
}

// machine describes where the numbers come from.
func machine() string {
	cpu := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	kernel, _ := exec.Command("uname", "-sr").Output()
	node, _ := exec.Command("node", "--version").Output()
	return fmt.Sprintf("%d cores of %s, %s, %s, node %s", runtime.NumCPU(), cpu,
		strings.TrimSpace(string(kernel)), runtime.Version(), strings.TrimSpace(string(node)))
}
