package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
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
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// siege is a small fixture around a workspace: everything in it that a command could reach and must not.
type siege struct {
	t             *testing.T
	home, ws, out string // the workspace is in the home directory
	state         string
	program       string            // that attacks
	number        string            // in every secret of this fixture
	leaks         map[string]string // what is told by each secret
	key           int               // of objects of System V
	objects       [3]int            // a segment, semaphores, a queue
	segment       []byte
	stranger      *exec.Cmd
	mu            sync.Mutex
	knocks        []string // what came through the sockets

	watched map[int]string // processes that must not be changed, and who they are
	before  facts
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	home, err := os.UserHomeDir() // rather than /tmp, of which commands may have another one
	must(t, err)
	root, err := os.MkdirTemp(home, ".w") // a short name: those of sockets are bounded
	must(t, err)
	root, err = filepath.EvalSymlinks(root)
	must(t, err)
	s := &siege{t: t, home: root + "/home", ws: root + "/home/ws", out: root + "/out", state: root + "/state", watched: map[int]string{}}
	s.number = strconv.Itoa(100000 + rand.IntN(900000))
	s.key = 1<<20 + rand.IntN(1<<29)*2
	t.Cleanup(s.end)
	s.leaks = map[string]string{}
	for _, dir := range []string{s.home + "/.ssh", s.ws, s.out + "/dir", s.state} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for path, secret := range map[string]string{s.home + "/.ssh/id": s.secret("key", "the key in the home directory"), s.out + "/file": s.secret("file", "a file outside")} {
		must(t, os.WriteFile(path, []byte(secret+"\n"), 0o644))
	}
	s.program, err = hostile()
	must(t, err)
	s.wishes()
	s.listen()
	s.share()
	s.hire()
	return s
}

// secret is a new one, and what hearing it says.
func (s *siege) secret(kind, what string) string {
	secret := "leak-" + kind + "-" + s.number
	s.leaks[secret] = what
	return secret
}

// hostile is the test binary by the name under which it attacks, beside itself.
var hostile = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), attackProgram)
	_ = os.Remove(path) // of another time
	if os.Link(self, path) == nil {
		return path, nil
	}
	content, err := os.ReadFile(self) // of somebody else's no link is made
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, content, 0o755)
})

// listen has somebody at local sockets of every kind.
func (s *siege) listen() {
	knocked := func(text []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.knocks = append(s.knocks, string(text))
	}
	for network, path := range map[string]string{"unix": s.out + "/stream", "unixpacket": s.out + "/seqpacket"} {
		l, err := net.Listen(network, path)
		must(s.t, err)
		s.t.Cleanup(func() { l.Close() })
		go serveKnocks(l, knocked)
	}
	l, err := net.Listen("unix", "@"+s.out+"/abstract")
	must(s.t, err)
	s.t.Cleanup(func() { l.Close() })
	go serveKnocks(l, knocked)
	p, err := net.ListenPacket("unixgram", s.out+"/datagram")
	must(s.t, err)
	s.t.Cleanup(func() { p.Close() })
	go func() {
		for b := make([]byte, 1000); ; {
			n, _, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			knocked(b[:n])
		}
	}()
}

// serveKnocks reports who connects, even if nothing is said.
func serveKnocks(l net.Listener, knocked func([]byte)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			b := make([]byte, 1000)
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			n, _ := c.Read(b)
			knocked(b[:n])
		}()
	}
}

// share makes objects of System V that are a stranger's.
func (s *siege) share() {
	for i, number := range []uintptr{unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET} {
		args := []uintptr{uintptr(s.key), 4096, 0o1600}
		if i == 1 {
			args[1] = 1
		}
		if i == 2 {
			args = []uintptr{uintptr(s.key), 0o1600}
		}
		id, _, errno := unix.Syscall(number, args[0], args[1], append(args, 0)[2])
		if errno != 0 {
			s.t.Fatalf("System V: %v", errno)
		}
		s.objects[i] = int(id)
	}
	at, _, errno := unix.Syscall(unix.SYS_SHMAT, uintptr(s.objects[0]), 0, 0)
	if errno != 0 {
		s.t.Fatal(errno)
	}
	s.segment = unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), 4096)
	copy(s.segment, s.secret("segment", "shared memory of a stranger"))
}

// shared adds the state of these objects, and what else has a key of this fixture.
func (s *siege) shared(f facts) {
	value, _, _ := unix.Syscall(unix.SYS_SEMCTL, uintptr(s.objects[1]), 0, 12)
	f.add("shared segment", "%q", s.segment[60])
	f.add("shared semaphores", "%d", value)
	for _, kind := range []string{"shm", "sem", "msg"} {
		text, _ := os.ReadFile("/proc/sysvipc/" + kind)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if fields[0] == strconv.Itoa(s.key) {
				f.add("shared "+kind, "with %s bytes or messages, mode %s", fields[map[string]int{"shm": 3, "sem": 3, "msg": 4}[kind]], fields[2])
			}
		}
	}
}

// hire starts a process of the same user that has nothing to do with the server.
func (s *siege) hire() {
	s.stranger = exec.Command("sleep", "1000")
	s.stranger.Env = []string{"TOKEN=" + s.secret("stranger", "variables of a stranger")}
	s.stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(s.t, s.stranger.Start())
	s.watched[s.stranger.Process.Pid] = "stranger"
}

func (s *siege) end() {
	_ = s.stranger.Process.Kill()
	_ = s.stranger.Wait()
	for i, number := range []uintptr{unix.SYS_SHMCTL, unix.SYS_SEMCTL, unix.SYS_MSGCTL} {
		call(number, uintptr(s.objects[i]), 0, 0)
		if i == 1 {
			call(number, uintptr(s.objects[i]), 0, 0)
		}
	}
	for _, pid := range s.left() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = os.RemoveAll(filepath.Dir(s.home))
}

// left are processes of the hostile program that work in the workspace.
func (s *siege) left() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		cwd, _ := os.Readlink(dir + "/cwd")
		comm, _ := os.ReadFile(dir + "/comm")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if cwd == s.ws && string(comm) == attackProgram+"\n" && s.watched[pid] == "" && !zombie(dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return parentIn(string(stat))
}

// watch remembers how everything is.
func (s *siege) watch() {
	s.before = s.look()
	s.mu.Lock()
	s.knocks = nil
	s.mu.Unlock()
}

// facts are what is known of each thing, and may be several: threads come and go.
type facts map[string][]string

func (f facts) add(thing, format string, args ...any) {
	if fact := fmt.Sprintf(format, args...); !slices.Contains(f[thing], fact) {
		f[thing] = append(f[thing], fact)
	}
}

// changes are the things of which something new is known, or nothing any more.
func (f facts) changes(now facts) (out []string) {
	for thing, is := range now {
		for _, fact := range is {
			if !slices.Contains(f[thing], fact) {
				out = append(out, fmt.Sprintf("%s: %.100s", thing, fact))
			}
		}
	}
	for thing := range f {
		who, _, _ := strings.Cut(thing, ": ")
		if now[thing] == nil && now[who+": ended"] == nil {
			out = append(out, thing+" is gone")
		}
	}
	return out
}

// look is everything that must stay as it is.
func (s *siege) look() facts {
	f := facts{}
	for pid, who := range s.watched {
		f.process(pid, who)
	}
	s.shared(f)
	s.files(f)
	return f
}

// process adds what others can change of a process.
func (f facts) process(pid int, who string) {
	dir := fmt.Sprintf("/proc/%d", pid)
	if ended(pid) {
		f.add(who+": ended", "")
		return
	}
	for _, name := range []string{"environ", "limits", "oom_score_adj", "coredump_filter", "autogroup", "comm", "timerslack_ns"} {
		text, _ := os.ReadFile(dir + "/" + name)
		f.add(who+": "+name, "%q", text)
	}
	tasks, _ := os.ReadDir(dir + "/task")
	for _, task := range tasks {
		f.thread(dir+"/task/"+task.Name(), task.Name(), who)
	}
}

func ended(pid int) bool {
	dir := fmt.Sprintf("/proc/%d", pid)
	_, err := os.Stat(dir)
	return err != nil || zombie(dir)
}

func (f facts) thread(dir, tid, who string) {
	stat, _ := os.ReadFile(dir + "/stat")
	status, _ := os.ReadFile(dir + "/status")
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 39 {
		return // it has just ended
	}
	f.add(who+": nice", "%s", fields[16])
	f.add(who+": policy", "%s", fields[38])
	f.add(who+": stopped", "%t", strings.ContainsAny(fields[0], "Tt"))
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(line, ":"); name == "Cpus_allowed_list" || name == "TracerPid" {
			f.add(who+": "+name, "%s", strings.TrimSpace(value))
		}
	}
	n, _ := strconv.Atoi(tid)
	if prio, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(n), 0); errno == 0 {
		f.add(who+": ioprio", "%d", prio)
	}
}

// files are what lies outside of the workspace.
func (s *siege) files(f facts) {
	for _, dir := range []string{s.home, s.out} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err != nil || unix.Lstat(path, &st) != nil {
				f.add("file "+path, "%v", err)
				return nil
			}
			if path == s.ws {
				return filepath.SkipDir
			}
			var content []byte
			if d.Type().IsRegular() {
				content, _ = os.ReadFile(path)
			}
			f.add("file "+path, "%o, %d links, %q", st.Mode&unix.S_IFMT, st.Nlink, content)
			f.add("attributes of "+path, "%o %d:%d %s %q", st.Mode, st.Uid, st.Gid, times(path, st), xattrs(path))
			return nil
		})
	}
}

// times are when a file was changed; of a directory its entries say that.
func times(path string, st unix.Stat_t) string {
	if strings.HasSuffix(path, "/home") {
		return "" // the state of tools may come to lie there
	}
	return fmt.Sprintf("%d.%d", st.Mtim.Sec, st.Mtim.Nsec)
}

func xattrs(path string) (out []string) {
	b := make([]byte, 4096)
	n, err := unix.Llistxattr(path, b)
	if err != nil {
		return nil
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(b[:n]), "\x00"), "\x00") {
		value := make([]byte, 4096)
		n, _ := unix.Lgetxattr(path, name, value)
		out = append(out, name+"="+string(value[:max(n, 0)]))
	}
	return out
}

// harm is what has become of everything, given what was heard from the command.
func (s *siege) harm(heard string) (out []string) {
	for secret, what := range s.leaks {
		if strings.Contains(heard, secret) {
			out = append(out, "read: "+what)
		}
	}
	if strings.Contains(heard, "notifications/forged") {
		out = append(out, "heard: what the command forged")
	}
	out = append(out, s.before.changes(s.look())...)
	s.mu.Lock()
	for _, text := range s.knocks {
		out = append(out, "knocked: "+text)
	}
	s.mu.Unlock()
	for _, pid := range s.left() {
		out = append(out, fmt.Sprintf("left: a process of the command, child of %s", s.watched[parentOf(pid)]))
	}
	if loot, err := os.ReadFile(s.ws + "/loot"); err == nil {
		out = append(out, fmt.Sprintf("loot: %.80q", loot))
		_ = os.Remove(s.ws + "/loot")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// expand puts this fixture into a line.
func (s *siege) expand(line string) string {
	return strings.NewReplacer("$OUT", s.out, "$HOME", s.home, "$KEY", strconv.Itoa(s.key), "$NUMBER", s.number, "$T", s.pids()).Replace(line)
}

// pids are the numbers of all that is watched.
func (s *siege) pids() string {
	var out []string
	for pid := range s.watched {
		out = append(out, strconv.Itoa(pid))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// unprotected runs a line as a child of a server that nothing protects, and is what was heard. The line is a deed with
// its arguments.
func (s *siege) unprotected(line string) string {
	s.t.Helper()
	args := append([]string{"parent", s.out + "/file", s.program}, strings.Fields(s.expand(line))...)
	cmd := exec.Command(s.program, args...)
	var heard mcptest.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.ws, &heard, &heard
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TOKEN=" + s.secret("server", "variables of the server")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	must(s.t, err)
	must(s.t, cmd.Start())
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	h := house{t: s.t}
	h.until("a server without protection starts", func() bool { return strings.Contains(heard.String(), "ready\n") })
	s.watched[cmd.Process.Pid] = "server"
	s.watch()
	fmt.Fprintln(in, "begin")
	h.until("the attack runs: "+line, func() bool { return strings.Contains(heard.String(), "\ntried ") })
	time.Sleep(30 * time.Millisecond) // for what is on its way
	return heard.String()
}
