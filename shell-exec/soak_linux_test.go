package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

var released = mcptest.Released("shell-exec", ".")

// house is where the server works, with a state and a temporary directory of its own.
type house struct {
	t                *testing.T
	dir, state, temp string
	binary           string
	client           *mcptest.Client
}

func open(t *testing.T) *house {
	h := &house{t: t, dir: mcptest.Tree(t, "file=x"), state: t.TempDir(), temp: t.TempDir(), binary: released(t)}
	h.client = mcptest.Options{Env: h.environ()}.Start(t, h.binary, "--allow-path", h.dir, "--max-processes", "200", "--max-terminals", "40", "--output-size", "64MiB")
	return h
}

func (h *house) environ() []string { return []string{"XDG_STATE_HOME=" + h.state, "TMPDIR=" + h.temp} }

// call is what a tool answers, in part.
type answer struct {
	ID       string `json:"execution_id"`
	PID      int    `json:"process_id"`
	Status   string `json:"status"`
	Terminal string `json:"terminal_id"`
	Outputs  []struct {
		ID string `json:"output_id"`
	} `json:"outputs"`
	Processes []struct {
		ID  string `json:"execution_id"`
		PID int    `json:"process_id"`
	} `json:"processes"`
	Terminals []struct {
		ID string `json:"terminal_id"`
	} `json:"terminals"`
	Server struct {
		Goroutines  int     `json:"goroutines"`
		Descriptors int     `json:"descriptors"`
		Heap        float64 `json:"heap_mb"`
	} `json:"server"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (h *house) call(tool string, args map[string]any) (a answer) {
	if err := h.client.Call(tool, args).Decode(&a); err != nil {
		h.t.Errorf("%s %v: %v", tool, args, err)
	}
	return a
}

// expected are refusals that a server under load may give; what it was asked about may
// also have ended meanwhile.
var expected = []string{"RESOURCE_001", "RESOURCE_002", "RESOURCE_003", "RESOURCE_005", "EXECUTION_002", "EXECUTION_003", "SECURITY_003"}

// act is one thing that a worker does, with a share of the time.
type act struct {
	name string
	do   func(h *house, r *rand.Rand) answer
}

func execute(mode, command string) func(*house, *rand.Rand) answer {
	return func(h *house, r *rand.Rand) answer {
		return h.call("shell_execute", map[string]any{"command": command, "execution_mode": mode, "timeout_seconds": 1 + r.IntN(2), "foreground_timeout_seconds": 1})
	}
}

// acts are all of them; each happens in every soak, or it fails.
var acts = []act{
	{"a quick command", func(h *house, r *rand.Rand) answer {
		return h.call("shell_exec", map[string]any{"command": "echo", "args": []string{strconv.Itoa(r.IntN(1000))}})
	}},
	{"a command line", execute("foreground", "ls; echo hi | tr a-z A-Z; exit 3")},
	{"a command that goes on", execute("adaptive", "echo begun; sleep 1.5; echo done")},
	{"a background command", execute("background", "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done")},
	{"a detached command", execute("detached", "sleep 0.3; echo done")},
	{"a command that takes too long", execute("foreground", "trap '' TERM; sleep 600")},
	{"children left behind", execute("foreground", "setsid sleep 600 & sleep 600 & (sleep 600 &) ; echo left")},
	{"a flood", execute("foreground", "yes | head -c 3000000")},
	{"a flood on both streams", execute("adaptive", "seq 100000; seq 100000 >&2")},
	{"a crash", execute("foreground", "kill -SEGV $$")},
	{"a kill from outside", func(h *house, r *rand.Rand) answer {
		a := execute("background", "sleep 600")(h, r)
		if a.PID > 0 {
			_ = syscall.Kill(a.PID, syscall.SIGKILL)
		}
		return a
	}},
	{"a termination", func(h *house, r *rand.Rand) answer {
		a := execute("background", "trap '' TERM HUP; sleep 600 | cat")(h, r)
		if a.PID == 0 {
			return a
		}
		return h.call("process_terminate", map[string]any{"process_id": a.PID, "force": r.IntN(2) == 0})
	}},
	{"a cancel", func(h *house, r *rand.Rand) answer {
		p := h.client.Begin("tools/call", map[string]any{"name": "shell_execute", "arguments": map[string]any{"command": "sleep 600", "execution_mode": "foreground"}})
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
		p.Cancel("no longer wanted")
		return answer{}
	}},
	{"a watched command", func(h *house, r *rand.Rand) answer {
		a := execute("background", "while :; do :; done")(h, r)
		if a.PID == 0 {
			return a
		}
		h.call("process_monitor", map[string]any{"process_id": a.PID, "monitor_interval_ms": 100})
		return h.call("process_get_execution", map[string]any{"execution_id": a.ID, "wait_seconds": 1})
	}},
	{"a terminal", func(h *house, r *rand.Rand) answer {
		a := h.call("terminal_create", map[string]any{"dimensions": map[string]any{"width": 20 + r.IntN(100), "height": 5 + r.IntN(50)}, "auto_save_history": r.IntN(2) == 0})
		if a.Terminal == "" {
			return a
		}
		id := a.Terminal
		h.call("terminal_send_input", map[string]any{"terminal_id": id, "input": "echo hello; seq 200", "execute": true})
		h.call("terminal_get_output", map[string]any{"terminal_id": id, "wait_for": map[string]any{"pattern": "200", "timeout_ms": 2000}})
		h.call("terminal_resize", map[string]any{"terminal_id": id, "dimensions": map[string]any{"width": 80, "height": 24}})
		return h.call("terminal_close", map[string]any{"terminal_id": id})
	}},
	{"a terminal that dies in a flood", func(h *house, r *rand.Rand) answer {
		a := h.call("terminal_create", map[string]any{})
		if a.Terminal == "" {
			return a
		}
		h.call("terminal_send_input", map[string]any{"terminal_id": a.Terminal, "input": "yes | head -c 300000; setsid sleep 600 & kill -9 $$", "execute": true})
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		return h.call("terminal_close", map[string]any{"terminal_id": a.Terminal})
	}},
	{"lists", func(h *house, r *rand.Rand) answer {
		h.call("process_list", map[string]any{})
		h.call("terminal_list", map[string]any{})
		return h.call("monitoring_get_stats", map[string]any{})
	}},
	{"outputs", func(h *house, r *rand.Rand) answer {
		a := h.call("list_execution_outputs", map[string]any{"limit": 20})
		if len(a.Outputs) == 0 {
			return a
		}
		id := a.Outputs[r.IntN(len(a.Outputs))].ID
		h.call("read_execution_output", map[string]any{"output_id": id, "size": 1 + r.IntN(10000)})
		return h.call("delete_execution_outputs", map[string]any{"output_ids": []string{id}, "confirm": true})
	}},
}

// TestAnHourOfWorkLeavesNothing compresses an hour's work of shell-exec into minutes: thousands of commands in every
// mode, hundreds of terminals, floods, kills and cancels, all at once, over a server as it is released. At the end
// nothing may be left of it: no process, no descriptor, no goroutine, no temporary file, no memory, and the audit log
// verifies. SOAK is how long it takes; scripts/soak takes ten minutes.
func TestAnHourOfWorkLeavesNothing(t *testing.T) {
	h := open(t)
	h.work(length(t)/4, workers) // what is made once and kept, up to its bounds, is made now
	h.settle()
	before := h.level()
	done := h.work(length(t), workers)
	for _, a := range acts {
		if done[a.name] == 0 {
			t.Errorf("%s never happened", a.name)
		}
	}
	h.settle()
	h.flat(before)
	t.Logf("%v; from %+v to %+v", done, before, h.level())
	h.client.Close()
	h.verify()
}

// workers is how many work at once.
const workers = 8

func length(t *testing.T) time.Duration {
	word := os.Getenv("SOAK")
	if word == "" {
		word = "10s"
	}
	d, err := time.ParseDuration(word)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// work does everything for so long, by so many at once, and says how often what was done.
func (h *house) work(d time.Duration, workers int) map[string]int {
	ctx, cancel := context.WithTimeout(h.t.Context(), d)
	defer cancel()
	var mu sync.Mutex
	done := map[string]int{}
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 2026))
			for n := i; n < len(acts) || ctx.Err() == nil; n += workers { // together they do each at least once
				a := acts[n%len(acts)]
				if n >= 2*len(acts) {
					a = acts[r.IntN(len(acts))]
				}
				if got := a.do(h, r); got.Error.Code != "" && !slices.Contains(expected, got.Error.Code) {
					h.t.Errorf("%s: %s %s", a.name, got.Error.Code, got.Error.Message)
				}
				mu.Lock()
				done[a.name]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return maps.Clone(done)
}

// settle ends what still runs and waits until it is gone.
func (h *house) settle() {
	for _, t := range h.call("terminal_list", map[string]any{"status_filter": "all", "limit": 1000}).Terminals {
		h.call("terminal_close", map[string]any{"terminal_id": t.ID, "save_history": false})
	}
	h.until("every command is over", func() bool {
		running := h.call("process_list", map[string]any{"status_filter": "running", "limit": 1000}).Processes
		for _, p := range running {
			h.call("process_terminate", map[string]any{"process_id": p.PID, "force": true})
		}
		return len(running) == 0
	})
	// A command that has ended may have left children: they live until the server ends, or
	// until the command's own process, long gone, is terminated.
	for _, pid := range h.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	h.until("no process is left", func() bool { return len(h.processes()) == 0 })
}

// level is what the server has at a moment.
type level struct {
	Goroutines, Descriptors, Files int
	Heap                           float64 // MB
}

func (h *house) level() level {
	for range 20 { // what is live is known after a garbage collection, and garbage makes one
		h.call("shell_exec", map[string]any{"command": "seq 50000"})
	}
	a := h.call("monitoring_get_stats", map[string]any{})
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.client.PID()))
	if err != nil {
		h.t.Fatal(err)
	}
	return level{a.Server.Goroutines, len(descriptors), h.temporary(), a.Server.Heap}
}

// temporary is how many files there are in the temporary directory.
func (h *house) temporary() int {
	n := 0
	err := filepath.WalkDir(h.temp, func(string, os.DirEntry, error) error { n++; return nil })
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// flat waits for the level to be what it was: what ends takes a moment. Where it does not
// come, the server says what its goroutines do.
func (h *house) flat(before level) {
	var now level
	h.until(fmt.Sprintf("the level is no higher than at the start: %+v", before), func() bool {
		now = h.level()
		return now.Goroutines <= before.Goroutines+workers && // a reader stays for as many calls as there were at once
			now.Descriptors <= before.Descriptors && now.Files <= before.Files && now.Heap <= before.Heap+16
	})
	if h.t.Failed() {
		h.client.Signal(syscall.SIGQUIT)
		time.Sleep(time.Second)
		h.t.Fatalf("the level is %+v\n%s", now, h.client.Stderr())
	}
}

func (h *house) until(what string, holds func() bool) {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if holds() {
			return
		}
	}
	h.t.Errorf("it does not come to pass that %s", what)
}

// processes are those that work in the house.
func (h *house) processes() (pids []int) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, dir := range dirs {
		cwd, err := os.Readlink(dir + "/cwd")
		if err != nil || cwd != h.dir {
			continue
		}
		stat, err := os.ReadFile(dir + "/stat")
		pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern says digits
		if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// verify has the audit log checked, as a person would.
func (h *house) verify() {
	cmd := exec.Command(h.binary, "audit", "verify")
	cmd.Env = append(os.Environ(), h.environ()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Errorf("the audit log does not verify: %v %s", err, out)
	}
	if f, ok := errors.AsType[*exec.ExitError](err); ok {
		h.t.Log(f.ExitCode())
	}
	var last struct{ Seq int }
	lines := strings.Split(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(h.state, "mcp-server/audit/shell-exec.jsonl"))))), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Seq < 100 {
		h.t.Errorf("the log has %d events: %v", last.Seq, err)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
