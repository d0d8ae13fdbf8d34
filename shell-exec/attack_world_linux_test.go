package main

import (
	"fmt"
	"io"
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

// siege is a small world around a workspace: everything in it that a command could reach and must not.
type siege struct {
	t             *testing.T
	home, ws, out string // the workspace is in the home directory
	state         string
	number        string            // in every secret of this world
	leaks         map[string]string // what is told by each secret
	key           int               // of objects of System V
	objects       [3]int            // a segment, semaphores, a queue
	segment       []byte
	stranger      *exec.Cmd
	mu            sync.Mutex
	knocks        []string // what came through the sockets

	watched map[int]string // processes that must not be changed, and who they are
	before  map[string]bool
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	root, err := os.MkdirTemp("", "w") // a short name: those of sockets are bounded
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
	self, err := os.Executable()
	must(t, err)
	copyFile(t, self, s.ws+"/"+attackProgram)
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	defer out.Close()
	_, err = io.Copy(out, in)
	must(t, err)
}

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

// shared is the state of these objects, and what else has a key of this world.
func (s *siege) shared() (out []string) {
	value, _, _ := unix.Syscall(unix.SYS_SEMCTL, uintptr(s.objects[1]), 0, 12)
	out = append(out, fmt.Sprintf("shared: a segment with %q", s.segment[60]), fmt.Sprintf("shared: semaphores with %d", value))
	for _, kind := range []string{"shm", "sem", "msg"} {
		text, _ := os.ReadFile("/proc/sysvipc/" + kind)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if f[0] == strconv.Itoa(s.key) {
				out = append(out, "shared: "+kind+" is there")
				if kind == "msg" {
					out = append(out, "shared: messages "+f[4])
				}
			}
			if f[0] == strconv.Itoa(s.key+1) {
				out = append(out, "left: "+kind)
			}
		}
	}
	return out
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

// look is everything that must stay as it is, a fact a line.
func (s *siege) look() map[string]bool {
	facts := map[string]bool{}
	for pid, who := range s.watched {
		for _, fact := range traits(pid) {
			facts[who+": "+fact] = true
		}
	}
	for _, fact := range append(s.shared(), s.files()...) {
		facts[fact] = true
	}
	return facts
}

// traits are what others can change of a process.
func traits(pid int) (out []string) {
	dir := fmt.Sprintf("/proc/%d", pid)
	if _, err := os.Stat(dir); err != nil || zombie(dir) {
		return []string{"ended"}
	}
	for _, name := range []string{"environ", "limits", "oom_score_adj", "coredump_filter", "autogroup", "comm", "timerslack_ns"} {
		text, _ := os.ReadFile(dir + "/" + name)
		out = append(out, fmt.Sprintf("%s %q", name, text))
	}
	tasks, _ := os.ReadDir(dir + "/task")
	for _, task := range tasks {
		out = append(out, threadTraits(dir+"/task/"+task.Name(), task.Name())...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func threadTraits(dir, tid string) (out []string) {
	stat, _ := os.ReadFile(dir + "/stat")
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(f) < 39 {
		return nil // it has just ended
	}
	out = append(out, "nice "+f[16]+" policy "+f[38])
	if strings.ContainsAny(f[0], "Tt") {
		out = append(out, "stopped")
	}
	status, _ := os.ReadFile(dir + "/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "Cpus_allowed_list") || strings.HasPrefix(line, "TracerPid") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	n, _ := strconv.Atoi(tid)
	if prio, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, 1, uintptr(n), 0); errno == 0 {
		out = append(out, fmt.Sprintf("ioprio %d", prio))
	}
	return out
}

// files are what lies outside of the workspace.
func (s *siege) files() (out []string) {
	for _, dir := range []string{s.home, s.out} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err != nil || unix.Lstat(path, &st) != nil {
				out = append(out, fmt.Sprintf("file: %s: %v", path, err))
				return nil
			}
			if path == s.ws {
				return filepath.SkipDir
			}
			fact := fmt.Sprintf("file: %s is %o", path, st.Mode&unix.S_IFMT)
			if d.Type().IsRegular() {
				content, _ := os.ReadFile(path)
				fact += fmt.Sprintf(" of %q, links %d", content, st.Nlink)
			}
			out = append(out, fact, fmt.Sprintf("attributes: %s %o %d:%d %s %q", path, st.Mode, st.Uid, st.Gid, times(path, st), xattrs(path)))
			return nil
		})
	}
	return out
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
	now := s.look()
	for fact := range now {
		if !s.before[fact] {
			out = append(out, fact)
		}
	}
	for fact := range s.before {
		if !now[fact] && !strings.Contains(fact, ": nice ") { // threads come and go
			out = append(out, "no more: "+fact)
		}
	}
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

// expand puts this world into a line.
func (s *siege) expand(line string) string {
	return strings.NewReplacer("$OUT", s.out, "$HOME", s.home, "$KEY", strconv.Itoa(s.key), "$NEW", strconv.Itoa(s.key+1), "$T", s.pids()).Replace(line)
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
	args := append([]string{"parent", s.out + "/file", "./" + attackProgram}, strings.Fields(s.expand(line))...)
	cmd := exec.Command(s.ws+"/"+attackProgram, args...)
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
