package kernels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// target is what there is to attack, outside of what a command may touch.
type target struct {
	Outside  string // a directory of the same user
	Readable string // a file that a command may read
	Stranger int    // a process of the same user
	Servers  []int  // the processes of the server; of the attacker's parent, where it is free
	TCP, UDP string
	Abstract string
	Shared   int // a segment of System V memory
	Daemon   string
}

// attack is something that no command may do. It returns nil if it could.
type attack struct {
	name string
	part string // what doctor calls the part of the sandbox that prevents it
	try  func(target) error
}

// attacks are tried from inside with the network off; those in online and spending are
// not, see there.
var attacks = []attack{
	{"read-file", "read", func(t target) error { _, err := os.ReadFile(t.Outside + "/file"); return err }},
	{"list-directory", "read", func(t target) error {
		seen, err := os.ReadDir(t.Outside)
		if err == nil && !slices.ContainsFunc(seen, func(e os.DirEntry) bool { return e.Name() == "file" }) {
			err = errors.New("there is an empty one of this name")
		}
		return err
	}},
	{"create-file", "write", func(t target) error { return os.WriteFile(t.Outside+"/new", nil, 0o644) }},
	{"append-to-file", "write", func(t target) error {
		f, err := os.OpenFile(t.Outside+"/file", os.O_WRONLY|os.O_APPEND, 0)
		return errors.Join(err, f.Close())
	}},
	{"truncate-file", "write", func(t target) error { return os.Truncate(t.Outside+"/long", 0) }},
	{"empty-readable-file", "write", func(t target) error {
		f, err := os.OpenFile(t.Readable, os.O_RDONLY|os.O_TRUNC, 0)
		return errors.Join(err, f.Close())
	}},
	{"take-file", "write", func(t target) error { return os.Rename(t.Outside+"/taken", "taken") }},
	{"link-file", "write", func(t target) error { return os.Link(t.Outside+"/file", "linked") }},
	{"remove-file", "write", func(t target) error { return os.Remove(t.Outside + "/removed") }},
	{"change-mode", "namespaces", func(t target) error { return os.Chmod(t.Outside+"/file", 0o600) }},
	{"change-times", "namespaces", func(t target) error { return os.Chtimes(t.Outside+"/file", time.Unix(0, 0), time.Unix(0, 0)) }},
	{"memory-of-strangers", "namespaces", func(t target) error {
		_, _, errno := unix.Syscall(unix.SYS_SHMAT, uintptr(t.Shared), 0, 0)
		return number(errno)
	}},
	{"signal-stranger", "processes", func(t target) error { return unix.Kill(t.Stranger, 0) }},
	{"environment-of-stranger", "processes", func(t target) error { return reads(t.Stranger, "environ") }},
	{"memory-of-stranger", "processes", func(t target) error { return opens(t.Stranger, "mem") }},
	{"trace-stranger", "processes", func(t target) error { return unix.PtraceSeize(t.Stranger) }},
	{"limits-of-stranger", "processes", func(t target) error { return limits(t.Stranger) }},
	{"priority-of-stranger", "processes", func(t target) error { return priority(t.Stranger) }},
	{"processors-of-stranger", "processes", func(t target) error { return processors(t.Stranger) }},
	{"signal-server", "processes", func(t target) error { return t.anyThread(func(tid int) error { return unix.Kill(tid, 0) }) }},
	{"environment-of-server", "processes", func(t target) error { return t.anyThread(func(tid int) error { return reads(tid, "environ") }) }},
	{"memory-of-server", "processes", func(t target) error { return t.anyThread(func(tid int) error { return opens(tid, "mem") }) }},
	{"files-of-server", "processes", func(t target) error {
		return t.anyThread(func(tid int) error { _, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", tid)); return err })
	}},
	{"limits-of-server", "processes", func(t target) error { return t.anyThread(limits) }},
	{"connect-tcp", "network", func(t target) error { return dials("tcp", t.TCP) }},
	{"send-udp", "network", func(t target) error { return dials("udp", t.UDP) }},
	{"connect-abstract-socket", "network", func(t target) error { return dials("unix", t.Abstract) }},
	{"connect-socket-file", "network", func(t target) error { return dials("unix", t.Outside+"/socket") }},
	{"unshare", "kernel", func(target) error { return unix.Unshare(unix.CLONE_FS) }},
	{"user-namespace", "kernel", func(target) error {
		c := exec.Command("/bin/true")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return c.Run()
	}},
	{"key", "kernel", func(target) error {
		_, err := unix.AddKey("user", "kernels", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}},
	{"outlive-command", "kill", func(t target) error {
		c := exec.Command("/proc/self/exe", "sleep", t.Daemon)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return c.Start()
	}},
}

// online are tried from inside with the network on, where sockets are not forbidden as such.
var online = []attack{
	{"connect-abstract-socket-online", "sockets", func(t target) error { return dials("unix", t.Abstract) }},
	{"connect-socket-file-online", "sockets", func(t target) error { return dials("unix", t.Outside+"/socket") }},
}

// spending are tried one by one, within these limits of the server: they end a command.
var spending = []struct {
	attack
	flag string
}{
	{attack{"spend-memory", "limits", func(target) error {
		b := make([]byte, 512<<20)
		for i := range b {
			b[i] = 1
		}
		return nil
	}}, "--max-memory=256MiB"},
	{attack{"spend-disk", "limits", func(target) error { return os.WriteFile("large", make([]byte, 8<<20), 0o644) }}, "--max-file-size=1MiB"},
}

func everyAttack() []attack {
	all := append(append([]attack{}, attacks...), online...)
	for _, s := range spending {
		all = append(all, s.attack)
	}
	return all
}

func number(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func reads(pid int, file string) error {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err == nil && len(b) == 0 {
		err = errors.New("empty")
	}
	return err
}

func opens(pid int, file string) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
	return errors.Join(err, f.Close())
}

func limits(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &now, nil)
}

func priority(pid int) error {
	now, err := unix.Getpriority(unix.PRIO_PROCESS, pid) // 20 minus what it is
	if err != nil {
		return err
	}
	return unix.Setpriority(unix.PRIO_PROCESS, pid, 20-now)
}

func processors(pid int) error {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &all); err != nil {
		return err
	}
	return unix.SchedSetaffinity(pid, &all)
}

func dials(network, to string) error {
	c, err := net.DialTimeout(network, to, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err = c.Write([]byte("x")); err == nil {
		err = c.SetDeadline(time.Now().Add(5 * time.Second))
	}
	if err == nil {
		_, err = c.Read(make([]byte, 1)) // or it was sent to nobody
	}
	return err
}

// anyThread is nil if try is, for any thread of the server. A thread is not seen in
// /proc by its number, but found there.
func (t target) anyThread(try func(tid int) error) error {
	err := errors.New("no server")
	for _, pid := range t.Servers {
		tids, failed := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if failed != nil {
			err = failed
		}
		numbers := []int{pid}
		for _, e := range tids {
			tid, _ := strconv.Atoi(e.Name())
			numbers = append(numbers, tid)
		}
		for _, tid := range numbers {
			if err = try(tid); err == nil {
				return nil
			}
		}
	}
	return err
}

// What attackers and their stage tell each other, in the directory where a command works.
const (
	aims    = "target.json"
	started = "started"
	results = "results.jsonl"
)

// outcome is what became of one attack.
type outcome struct {
	Name string
	Free string // why it failed outside of the sandbox, "" if it did not
	Held string // why it failed inside
}

// attempt is one line of results.
type attempt struct{ Name, Err string }

// attacker is the command: it waits for its target, makes each attack and writes down what
// became of it.
func attacker(names []string) error {
	if err := os.WriteFile(started, nil, 0o644); err != nil {
		return err
	}
	var raw []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var err error
		if raw, err = os.ReadFile(aims); err == nil {
			break
		}
	}
	var t target
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	file, err := os.OpenFile(results, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, name := range names {
		said := ""
		if err := t.suffer(name); err != nil {
			said = err.Error()
		}
		if err := json.NewEncoder(file).Encode(attempt{name, said}); err != nil {
			return err
		}
	}
	return nil
}

// suffer makes an attack on a thread of its own, which ends with it: what one does to
// itself must not be in the way of the next.
func (t target) suffer(name string) error {
	for _, a := range everyAttack() {
		if a.name == name {
			failed := make(chan error)
			go func() {
				runtime.LockOSThread()
				failed <- a.try(t)
			}()
			return <-failed
		}
	}
	return fmt.Errorf("no attack %q", name)
}

// stage is a home with a workspace, what lies outside of it, and who is there.
type stage struct {
	work, outside, programs string
	level                   string
	target                  target
	closers                 []io.Closer
}

// runAttacks makes every attack free and then inside of the sandbox, and prints what
// became of them as JSON.
func runAttacks(level, programs string) error {
	home := os.Getenv("HOME")
	s := &stage{work: home + "/attacked", outside: home + "/outside", programs: programs, level: level}
	stranger := exec.Command("/proc/self/exe", "sleep", "stranger")
	stranger.Env, stranger.SysProcAttr = []string{"STRANGER=1"}, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := stranger.Start(); err != nil {
		return err
	}
	defer stranger.Process.Kill()
	shared, _, errno := unix.Syscall(unix.SYS_SHMGET, unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if errno != 0 {
		return fmt.Errorf("shmget: %w", errno)
	}
	defer unix.Syscall(unix.SYS_SHMCTL, shared, unix.IPC_RMID, uintptr(unsafe.Pointer(nil)))
	s.target.Stranger, s.target.Shared = stranger.Process.Pid, int(shared)

	var all []outcome
	add := func(list []attack, flags ...string) error {
		var names []string
		for _, a := range list {
			names = append(names, a.name)
		}
		free, err := s.perform(names, nil)
		if err != nil {
			return fmt.Errorf("outside of the sandbox: %w", err)
		}
		held, err := s.perform(names, append(flags, "--ask=deny", "--sandbox=auto", "--sandbox-level="+level, "--allow-path="+s.work, "--read-path="+s.outside+"/readable"))
		if err != nil {
			return fmt.Errorf("with %v: %w", flags, err)
		}
		for _, n := range names {
			all = append(all, outcome{n, free[n], held[n]})
		}
		return nil
	}
	if err := add(attacks, "--network=false"); err != nil {
		return err
	}
	if err := add(online); err != nil {
		return err
	}
	for _, a := range spending {
		if err := add([]attack{a.attack}, a.flag); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// perform runs the attacker on a fresh stage: as a command of the server with these flags,
// or where there are none without a server.
func (s *stage) perform(names []string, flags []string) (map[string]string, error) {
	if err := s.set(); err != nil {
		return nil, err
	}
	defer s.strike()
	line := append([]string{"./attacker", "attack"}, names...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if flags != nil {
		command, err := json.Marshal(map[string]string{"command": strings.Join(line, " ")})
		if err != nil {
			return nil, err
		}
		cmd = exec.Command(s.programs+"/shell-exec", append([]string{"call", "shell_exec", "--json", string(command)}, flags...)...)
	}
	cmd.Dir = s.work
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err := os.Stat(s.work + "/" + started); err == nil {
			break
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the attacker never started (%v): %s", err, said.Bytes())
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.target.Servers = []int{os.Getpid()}
	if flags != nil {
		s.target.Servers = servers(cmd.Process.Pid, s.programs+"/shell-exec")
	}
	raw, err := json.Marshal(s.target)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(s.work+"/aims", raw, 0o644), os.Rename(s.work+"/aims", s.work+"/"+aims)); err != nil {
		return nil, err
	}
	<-ended
	outcomes, err := s.read(names)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	return outcomes, nil
}

// set makes everything again.
func (s *stage) set() error {
	err := errors.Join(os.RemoveAll(s.work), os.RemoveAll(s.outside), os.MkdirAll(s.work, 0o755), os.MkdirAll(s.outside, 0o755))
	s.target.Readable = s.outside + "/readable/file"
	err = errors.Join(err, os.Mkdir(s.outside+"/readable", 0o755))
	for _, name := range []string{"file", "long", "taken", "removed", "readable/file"} {
		err = errors.Join(err, os.WriteFile(s.outside+"/"+name, []byte("outside"), 0o644))
	}
	self, failed := os.ReadFile("/proc/self/exe")
	if err = errors.Join(err, failed, os.WriteFile(s.work+"/attacker", self, 0o755)); err != nil {
		return err
	}
	s.target.Outside = s.outside
	s.target.Daemon = fmt.Sprintf("daemon-%d-%d", os.Getpid(), time.Now().UnixNano())
	s.target.Abstract = "@kernels-" + s.target.Daemon
	for network, at := range map[string]*string{"tcp": &s.target.TCP, "abstract": &s.target.Abstract, "path": new(string)} {
		where := map[string][2]string{"tcp": {"tcp", "127.0.0.1:0"}, "abstract": {"unix", s.target.Abstract}, "path": {"unix", s.outside + "/socket"}}[network]
		l, err := net.Listen(where[0], where[1])
		if err != nil {
			return err
		}
		s.closers = append(s.closers, l)
		*at = l.Addr().String()
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				go func() { _, _ = io.Copy(c, c); c.Close() }()
			}
		}()
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.closers = append(s.closers, udp)
	s.target.UDP = udp.LocalAddr().String()
	go func() {
		b := make([]byte, 1)
		for _, from, err := udp.ReadFrom(b); err == nil; _, from, err = udp.ReadFrom(b) {
			_, _ = udp.WriteTo(b, from)
		}
	}()
	return nil
}

func (s *stage) strike() {
	for _, c := range s.closers {
		c.Close()
	}
	s.closers = nil
	for _, pid := range running("sleep", s.target.Daemon) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// read is why each attack failed, "" if it worked. What left no line was ended in it.
func (s *stage) read(names []string) (map[string]string, error) {
	file, err := os.Open(s.work + "/" + results)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := map[string]string{}
	for dec := json.NewDecoder(file); ; {
		var a attempt
		if err := dec.Decode(&a); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		all[a.Name] = a.Err
	}
	for i, n := range names {
		if _, ok := all[n]; !ok && (len(names) > 1 || i > 0) {
			return nil, fmt.Errorf("nothing is known of %s", n)
		} else if !ok {
			all[n] = "the command was ended"
		}
		if n != "outlive-command" || all[n] != "" {
			continue
		}
		all[n] = "ended with the command"
		time.Sleep(time.Second)
		if len(running("sleep", s.target.Daemon)) > 0 {
			all[n] = ""
		}
	}
	return all, nil
}

// running are the processes with these arguments.
func running(args ...string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		text, _ := os.ReadFile(file)
		if strings.HasSuffix(string(text), "\x00"+strings.Join(args, "\x00")+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// servers are the process of that number and those among its descendants that run the
// same program.
func servers(first int, program string) []int {
	all := []int{first}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for grown := true; grown; {
		grown = false
		for _, dir := range dirs {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			if exe, _ := os.Readlink(dir + "/exe"); exe != program || slices.Contains(all, pid) {
				continue
			}
			if slices.Contains(all, parent(dir)) {
				all, grown = append(all, pid), true
			}
		}
	}
	return all
}

func parent(dir string) int {
	text, _ := os.ReadFile(dir + "/stat")
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return 0
	}
	pid, _ := strconv.Atoi(fields[1])
	return pid
}
