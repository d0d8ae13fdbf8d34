package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// world is what the sections measure in: programs, places and the servers that run.
type world struct {
	read, write, run string // our binaries
	node             string
	modules          string // where the reference server is
	peers            string // where the peers are that run commands, and ripgrep
	loop             string // the server on mcp-go's own loop

	cache string // corpora, kept between runs
	base  string // of the next two, removed at the end
	dir   string // allowed; for files that are small or written; of one section
	state string // for audit logs and histories

	samples, calls int

	live    []*client
	closers []func()
	missing []string // what is not installed
	flags   map[string]string
}

func newWorld(o options) (*world, error) {
	w := &world{node: o.node, cache: o.cache, samples: o.samples, calls: o.calls, flags: map[string]string{}}
	var err error
	for _, place := range []struct{ to, from *string }{
		{&w.read, &o.read}, {&w.write, &o.write}, {&w.run, &o.run}, {&w.modules, &o.modules}, {&w.peers, &o.peers},
	} {
		if *place.to, err = filepath.Abs(*place.from); err != nil { // servers are started elsewhere
			return nil, err
		}
	}
	if err := os.MkdirAll(w.cache, 0o755); err != nil {
		return nil, err
	}
	if w.base, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, err
	}
	w.state = filepath.Join(w.base, "state")
	if err := os.Mkdir(w.state, 0o755); err != nil {
		return nil, err
	}
	if err := os.Setenv("XDG_STATE_HOME", w.state); err != nil {
		return nil, err
	}
	w.loop = filepath.Join(w.cache, "loop")
	build := exec.Command("go", "build", "-o", w.loop, "./interop/bench/loop")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return w, nil
}

func (w *world) remove() { os.RemoveAll(w.base) }

// interrupted removes the files when somebody ends the run early; servers end by
// themselves when nobody writes to them any more.
func (w *world) interrupted() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		w.remove()
		os.Exit(1)
	}()
}

// open gives a section a directory of its own; close ends what it left.
func (w *world) open() error {
	dir, err := os.MkdirTemp(w.base, "files")
	w.dir = dir
	w.closers = []func(){func() { os.RemoveAll(dir) }}
	return err
}

// watch is over this program and the servers that run now.
func (w *world) watch() *watch {
	return &watch{machineBusy, func() time.Duration {
		sum := ownTime()
		for _, c := range w.live {
			sum += timeOf(c.pid())
		}
		return sum
	}, windowLength}
}

// start starts a server; end stops it.
func (w *world) start(argv ...string) (*client, error) {
	c, err := dial(w.dir, argv)
	if err == nil {
		w.live = append(w.live, c)
	}
	return c, err
}

func (w *world) end(c *client) {
	c.stop()
	w.live = slices.DeleteFunc(w.live, func(o *client) bool { return o == c })
}

// serve starts a server that lasts as long as the section.
func (w *world) serve(argv ...string) (*client, error) {
	c, err := w.start(argv...)
	if err == nil {
		w.closers = append(w.closers, func() { w.end(c) })
	}
	return c, err
}

func (w *world) close() {
	for _, do := range slices.Backward(w.closers) {
		do()
	}
	w.closers = nil
}

// Our servers as they are installed: with an audit log, and restricted by the kernel.
func (w *world) fileRead(root string, flags ...string) []string {
	return w.ours(w.read, root, flags)
}

func (w *world) fileWrite(flags ...string) []string { return w.ours(w.write, w.dir, flags) }

func (w *world) shellExec(flags ...string) []string { return w.ours(w.run, w.dir, flags) }

func (w *world) ours(program, root string, flags []string) []string {
	return append([]string{program, "--allow-path", root, "--audit-log", filepath.Join(w.state, filepath.Base(program)+".jsonl")}, flags...)
}

// has tells whether a program of ours knows a flag.
func (w *world) has(program, flag string) bool {
	help, ok := w.flags[program]
	if !ok {
		out, _ := exec.Command(program, "--help").CombinedOutput()
		help = string(out)
		w.flags[program] = help
	}
	return strings.Contains(help, flag+" ")
}

const referencePackage = "@modelcontextprotocol/server-filesystem"

// reference is the command line of the reference server, nil where it is missing.
func (w *world) reference() []string {
	entry := filepath.Join(w.modules, referencePackage, "dist/index.js")
	if !w.there("the reference server", entry) {
		return nil
	}
	return []string{w.node, entry, w.dir}
}

// there tells whether files are installed, and keeps the name of what is not.
func (w *world) there(name string, files ...string) bool {
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			w.lacks(name)
			return false
		}
	}
	return true
}

func (w *world) lacks(name string) {
	if !slices.Contains(w.missing, name) {
		w.missing = append(w.missing, name)
		fmt.Fprintln(os.Stderr, "bench: SKIPPED:", name, "is not installed")
	}
}

// programs that are looked for in PATH under several names.
func (w *world) program(name string, called ...string) string {
	for _, c := range called {
		if path, err := exec.LookPath(c); err == nil {
			return path
		}
	}
	w.lacks(name)
	return ""
}

// file writes a file of the world and is its path.
func (w *world) file(name string, content []byte) (string, error) {
	path := filepath.Join(w.dir, name)
	err := os.WriteFile(path, content, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
	}
	return path, err
}

// prose is text in lines, of a size.
func prose(size int) []byte {
	line := []byte("the quick brown fox jumps over the lazy dog, and so on, 123\n")
	return bytes.Repeat(line, size/len(line)+1)[:size]
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

// beside names the programs that are measured beside ours, with their versions.
func (w *world) beside() []string {
	all := []string{"server-filesystem " + versionOf(w.modules, referencePackage)}
	for _, name := range []string{"mcp-server-commands", "@mako10k/mcp-shell-server"} {
		all = append(all, name+" "+versionOf(w.peers, name))
	}
	out, _ := exec.Command("go", "version", "-m", w.loop).Output()
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 2 && strings.HasSuffix(f[1], "/mcp-go") {
			all = append(all, "mcp-go "+f[2])
		}
	}
	for _, r := range w.ripgreps() {
		all = append(all, r.name)
	}
	if fd := w.program("fd", "fdfind", "fd"); fd != "" {
		out, _ := exec.Command(fd, "--version").Output()
		all = append(all, strings.Replace(strings.TrimSpace(string(out)), "fdfind", "fd", 1))
	}
	return all
}

// versionOf is that of an npm package beneath node_modules.
func versionOf(modules, name string) string {
	var p struct{ Version string }
	b, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
	if err != nil || json.Unmarshal(b, &p) != nil {
		return "(not installed)"
	}
	return p.Version
}
