package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// attack is what a command tries, and what becomes of a server without protection: each of the proofs begins a line of
// what [siege.harm] tells. Behind the sandbox there must be no harm at all.
type attack struct {
	name, line string
	proofs     []string
}

const (
	serverChanges   = "server: "
	strangerChanges = "stranger: "
	serverEnds      = "server: ended"
	strangerEnds    = "stranger: ended"
)

var attacks = []attack{
	{"the variables of others", "environ $T", []string{"read: variables of the server", "read: variables of a stranger"}},
	{"the memory of others", "memory $T", []string{"read: variables of the server", "read: variables of a stranger"}},
	{"memory written", "rewrite $T", []string{serverChanges, strangerChanges}},
	{"descriptors read", "descriptors $T", []string{"read: a file outside"}},
	{"descriptors written", "scribble $T", []string{"heard: "}},
	{"files through what others hold", "through $OUT/file $T", []string{"read: a file outside"}},
	{"a key through what others hold", "through $HOME/.ssh/id $T", []string{"read: the key"}},
	{"a wish of the client's", "inject wish $T", []string{"loot: "}},
	{"consent to a wish", "inject consent $T", []string{"loot: "}},
	{"another client that consents", "inject client $T", []string{"loot: "}},
	{"answers of the server's", "forge $T", []string{"heard: "}},
	{"limits of others", "limits $T", []string{serverChanges, strangerChanges}},
	{"renice", "priority $T renice", []string{serverChanges, strangerChanges}},
	{"renice of a group", "priority $T renice-group", []string{strangerChanges}},
	{"chrt", "priority $T chrt", []string{serverChanges, strangerChanges}},
	{"sched_setattr", "priority $T sched_setattr", []string{serverChanges, strangerChanges}},
	{"taskset", "priority $T taskset", []string{serverChanges, strangerChanges}},
	{"ionice", "priority $T ionice", []string{serverChanges, strangerChanges}},
	{"files of processes", "procfiles $T", []string{serverChanges, strangerChanges}},
	{"a socket", "connect stream $OUT/stream", []string{"knocked: "}},
	{"a socket by another name", "connect link $OUT/stream", []string{"knocked: "}},
	{"a socket in a directory by another name", "connect beneath $OUT/stream", []string{"knocked: "}},
	{"a socket by a second name", "connect hardlink $OUT/stream", []string{"knocked: "}},
	{"a socket by a descriptor", "connect handle $OUT/stream", []string{"knocked: "}},
	{"a socket of packets", "connect seqpacket $OUT/seqpacket", []string{"knocked: "}},
	{"a socket of datagrams", "connect datagram $OUT/datagram", []string{"knocked: "}},
	{"a datagram to a name", "connect sendto $OUT/datagram", []string{"knocked: "}},
	{"a message to a name", "connect sendmsg $OUT/datagram", []string{"knocked: "}},
	{"a datagram of a pair", "connect pair $OUT/datagram", []string{"knocked: "}},
	{"an abstract socket", "connect abstract $OUT/abstract", []string{"knocked: "}},
	{"a socket while it is looked at", "race $OUT/stream", []string{"knocked: "}},
	{"objects of System V", "sysv $KEY $NUMBER", []string{"read: shared memory", "shared segment", "shared semaphores", "shared msg"}},
	{"a sibling", "sibling", []string{"left: "}},
	{"kill", "kill kill $T", []string{serverEnds, strangerEnds}},
	{"tkill", "kill tkill $T", []string{serverEnds, strangerEnds}},
	{"tgkill", "kill tgkill $T", []string{serverEnds, strangerEnds}},
	{"rt_sigqueueinfo", "kill rt_sigqueueinfo $T", []string{serverEnds, strangerEnds}},
	{"rt_tgsigqueueinfo", "kill rt_tgsigqueueinfo $T", []string{serverEnds, strangerEnds}},
	{"pidfd_send_signal", "kill pidfd $T", []string{serverEnds, strangerEnds}},
	{"the signal of a descriptor", "owner $T", []string{serverEnds, strangerEnds}},
}

// settings are how a server is started.
type stance struct {
	name   string
	flags  []string
	person bool // that could be asked
	env    []string
}

var stances = []stance{
	{name: "level 2 by default", person: true},
	{name: "level 2, strict", flags: []string{"--sandbox", "required", "--sandbox-level", "2", "--ask", "deny", "--network=false"}},
	{name: "level 1", flags: []string{"--sandbox-level", "1"}, person: true},
	{name: "level 1, nobody to ask", flags: []string{"--sandbox-level", "1"}},
	{name: "level 1, strict", flags: []string{"--sandbox-level", "1", "--ask", "deny", "--network=false"}},
}

func TestAttacksWorkOnAServerWithoutProtection(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := newSiege(t)
			s.proves(a.proofs, s.unprotected(a.line))
		})
	}
}

// proves says that the attack does all this harm, at once or a moment later.
func (s *siege) proves(proofs []string, heard string) {
	s.t.Helper()
	var harm []string
	for range 300 {
		harm = append(harm, s.harm(heard)...)
		missing := slices.DeleteFunc(slices.Clone(proofs), func(proof string) bool {
			return slices.ContainsFunc(harm, func(line string) bool { return strings.HasPrefix(line, proof) })
		})
		if len(missing) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Errorf("the attack does not work where nothing is protected, and so says nothing: wanted are %q of\n%s", proofs, strings.Join(harm, "\n"))
}

func TestNoAttackReachesAnything(t *testing.T) {
	for _, how := range stances {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			g := newSiege(t).garrison(how)
			for _, a := range attacks {
				if harm := g.under(a.line); len(harm) > 0 {
					t.Errorf("%s: %s:\n\t%s", a.name, a.line, strings.Join(harm, "\n\t"))
					g.fall()
					g = newSiege(t).garrison(how)
				}
			}
		})
	}
}

// wishes are files with what a command would have the server take for its client's words.
func (s *siege) wishes() {
	initialize := `{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	for name, text := range map[string]string{
		"wish":    wished("echo forged >loot"),
		"consent": wished("sudo -n true; echo forged >loot"),
		"client":  initialize + wished("sudo -n true; echo forged >loot"),
	} {
		must(s.t, os.WriteFile(s.ws+"/"+name, []byte(text), 0o600))
	}
}

// garrison is a server in such a fixture, with a command that works for somebody else.
type garrison struct {
	*siege
	client *mcptest.Client
	other  execution
	first  func() // what is done before anybody looks at the harm
}

// garrison starts a server in this fixture.
func (s *siege) garrison(how stance) *garrison {
	s.t.Helper()
	o := mcptest.Options{Env: append([]string{"HOME=" + s.home, "XDG_STATE_HOME=" + s.state, "TOKEN=" + s.secret("server", "variables of the server")}, how.env...)}
	if how.person {
		o = o.WithPerson(func(string) string { time.Sleep(time.Second); return "decline" })
	}
	g := &garrison{siege: s, client: o.Start(s.t, "shell-exec", append([]string{"--allow-path", s.ws, "--read-path", s.program}, how.flags...)...)}
	g.other = house{t: s.t}.call(g.client, "shell_execute", map[string]any{
		"command": "echo $TOKEN; sleep 600", "execution_mode": "background",
		"environment_variables": map[string]string{"TOKEN": s.secret("other", "variables of another command")},
	})
	g.settle()
	return g
}

// settle waits until nothing is on its way any more.
func (g *garrison) settle() {
	time.Sleep(200 * time.Millisecond) // until whoever watches it is there
	for range 50 {
		g.recognize()
		before := g.look()
		time.Sleep(50 * time.Millisecond)
		if len(before.changes(g.look())) == 0 {
			return
		}
	}
	g.t.Error("the server does not settle")
}

// recognize finds out which processes belong to the server.
func (g *garrison) recognize() {
	g.watched = map[int]string{g.stranger.Process.Pid: "stranger", g.client.PID(): "server"}
	for pid, parents := range parents() {
		switch {
		case slices.Contains(parents, g.other.PID) || pid == g.other.PID:
			g.watched[pid] = "other command"
		case slices.Contains(parents, g.client.PID()) && !unborn(pid, parents[0]):
			g.watched[pid] = "server's " + commandOf(pid)
		}
	}
}

// unborn says whether a process is still the program that forked it.
func unborn(pid, parent int) bool {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	its, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", parent))
	return own == its && len(tasks) < 2
}

// parents are all processes with those that they descend from.
func parents() map[int][]int {
	parent := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(dir + "/stat")
		if pid, _ := strconv.Atoi(filepath.Base(dir)); err == nil {
			parent[pid] = parentIn(string(stat))
		}
	}
	all := map[int][]int{}
	for pid := range parent {
		for up := parent[pid]; up > 1; up = parent[up] {
			all[pid] = append(all[pid], up)
		}
	}
	return all
}

func commandOf(pid int) string {
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(comm))
}

// under has a command attack, and is the harm.
func (g *garrison) under(line string) []string {
	g.t.Helper()
	g.watch()
	heard := g.run(g.program + " " + g.expand(line))
	if g.first != nil {
		g.first()
	}
	harm := g.harm(heard)
	if heard == noAnswer {
		harm = append(harm, heard)
	}
	for range 100 { // what it leaves is ended with it, and a moment later
		if !slices.ContainsFunc(harm, func(line string) bool { return strings.HasPrefix(line, "left: ") }) {
			break
		}
		time.Sleep(10 * time.Millisecond)
		harm = g.harm(heard)
	}
	if deed, _, _ := strings.Cut(line, " "); !strings.Contains(heard, "tried "+deed) && len(harm) == 0 {
		g.t.Errorf("%s: did not run: %s", line, heard)
	}
	return harm
}

const noAnswer = "the server does not answer any more"

// run runs a command and is all that the client then heard, until the server ended if it did.
func (g *garrison) run(command string) string {
	g.t.Helper()
	p := g.client.Begin("tools/call", map[string]any{"name": "shell_execute", "arguments": map[string]any{"command": command, "execution_mode": "foreground", "timeout_seconds": 200}})
	for end := time.Now().Add(4 * time.Minute); !p.Answered(); time.Sleep(2 * time.Millisecond) {
		now := facts{}
		now.process(g.client.PID(), "server")
		if now["server: ended"] != nil || slices.Contains(now["server: stopped"], "true") || time.Now().After(end) {
			return noAnswer
		}
	}
	heard, err := json.Marshal(p.Wait())
	must(g.t, err)
	for _, m := range g.client.Notifications() {
		heard = append(heard, m.Method...)
	}
	said := g.client.Call("read_execution_output", map[string]any{"output_id": g.other.OutputID})
	return string(heard) + strings.ReplaceAll(said.Text, "leak-other", "")
}

// fall ends a server that was reached.
func (g *garrison) fall() {
	for pid, who := range g.watched {
		if who != "stranger" {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestSiegeByAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	mcptest.AsOrdinaryUser(t, "^TestAttack|^TestNoAttack(Reaches|OfRandom|Leaves)")
}

// TestOneSocketThatIsAllowedIsReached names one of several sockets of another program.
func TestOneSocketThatIsAllowedIsReached(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		t.Run("level "+level, func(t *testing.T) {
			t.Parallel()
			s := newSiege(t)
			g := s.garrison(stance{name: "level " + level, flags: []string{"--sandbox-level", level, "--allow-socket", s.out + "/stream"}})
			knocked := func(line string) bool {
				return slices.ContainsFunc(g.under(line), func(harm string) bool { return strings.HasPrefix(harm, "knocked: ") })
			}
			if !knocked("connect stream $OUT/stream") {
				t.Error("the socket that --allow-socket names is not reached")
			}
			if knocked("connect seqpacket $OUT/seqpacket") {
				t.Error("another one is")
			}
		})
	}
}
