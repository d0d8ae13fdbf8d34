package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// workplace has the programs and directories of a run.
type workplace struct {
	cache   string // of corpora, kept between runs
	temp    string // removed at the end
	dir     string // allowed; for files that are small or changed
	running []*client
	missing []string // programs that are not installed
}

func newWorkplace(cache string) (*workplace, error) {
	temp, err := os.MkdirTemp(cache, "run-")
	if os.IsNotExist(err) {
		if err = os.MkdirAll(cache, 0o755); err == nil {
			temp, err = os.MkdirTemp(cache, "run-")
		}
	}
	if err != nil {
		return nil, err
	}
	w := &workplace{cache: cache, temp: temp, dir: filepath.Join(temp, "files")}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(temp, "state")); err != nil {
		return nil, err
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(temp, "loop"), "./interop/bench/loop").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return w, nil
}

// server starts a server that runs until the end of its group.
func (w *workplace) server(argv []string) (*client, error) {
	c, err := start(w.dir, argv)
	if err == nil {
		w.running = append(w.running, c)
	}
	return c, err
}

func (w *workplace) stopServers() {
	for _, c := range w.running {
		c.stop()
	}
	w.running = nil
}

// ours is the command line of a server of ours that may read or change root.
func (w *workplace) ours(name, root string, flags ...string) []string {
	program, err := filepath.Abs(filepath.Join("dist", name)) // servers are started elsewhere
	if err != nil {
		program = name
	}
	return append([]string{program, "--allow-path", root}, flags...)
}

const (
	loop      = "mcp-go's loop"
	reference = "server-filesystem"
	commands  = "mcp-server-commands"
)

// peers are other servers, by name, with their command lines; nil: it is not installed. Desktop Commander is not among
// them: when it starts, it connects to the network and installs a browser.
var peers = map[string]struct {
	entry string // below node_modules
	env   []string
}{
	reference: {entry: "interop/node_modules/@modelcontextprotocol/server-filesystem"},
	commands:  {entry: "interop/bench/peers/node_modules/mcp-server-commands"},
	// Unless told not to, it asks the client's model about each command.
	"mcp-shell-server": {"interop/bench/peers/node_modules/@mako10k/mcp-shell-server",
		[]string{"env", "MCP_SHELL_ENHANCED_MODE=false", "MCP_SHELL_LLM_EVALUATION=false"}},
}

func (w *workplace) peer(name string) []string {
	if name == loop {
		return []string{filepath.Join(w.temp, "loop")}
	}
	p := peers[name]
	dir, err := filepath.Abs(p.entry)
	if err != nil {
		return nil
	}
	var about struct{ Main, Version string }
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil || json.Unmarshal(text, &about) != nil {
		w.lacks(name)
		return nil
	}
	for _, entry := range []string{"dist/index.js", "build/index.js", about.Main} {
		if _, err := os.Stat(filepath.Join(dir, entry)); err == nil && strings.HasSuffix(entry, ".js") {
			argv := append(slices.Clone(p.env), "node", filepath.Join(dir, entry))
			if name == reference {
				argv = append(argv, w.dir)
			}
			return argv
		}
	}
	w.lacks(name)
	return nil
}

// program is the path of one that is called by any of these names; "": it is not installed.
func (w *workplace) program(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	w.lacks(names[0])
	return ""
}

func (w *workplace) lacks(name string) {
	if note := name + " is not installed"; !slices.Contains(w.missing, note) {
		w.missing = append(w.missing, note)
		fmt.Fprintln(os.Stderr, "bench: SKIPPED:", note)
	}
}
