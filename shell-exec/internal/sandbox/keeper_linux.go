package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// role is the variable that tells a process of this program that it is one of the
// sandbox's own.
const (
	role       = "MCP_SANDBOX_ROLE"
	roleKeeper = "keeper" // makes and holds the namespaces of level 2
	roleInit   = "init"   // the first process of a PID namespace
	roleTrial  = "trial"  // a command that tries what no command may do
)

// Helper runs this program as one of the sandbox's own processes, if it was
// started as one, and does not return then. main calls it before anything else.
func Helper() {
	switch os.Getenv(role) {
	case roleKeeper:
		runKeeper(os.NewFile(3, "server"))
	case roleInit:
		signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
		signal.Ignore(unix.SIGCHLD) // the kernel then reaps by itself
		for {
			time.Sleep(time.Hour)
		}
	case roleTrial:
		runTrial()
	default:
		return
	}
	os.Exit(0)
}

// keeper is the process that makes the namespaces of all commands and is the first
// one of their PID namespace: when it ends, as it does with this process, all
// commands end.
type keeper struct {
	process *os.Process
	gone    chan struct{} // closed when the process has ended
	noProc  string        // why commands see the processes of others; "" if they do not

	user    *os.File // nil for root, who needs none
	ipc     *os.File
	net     *os.File // without a way out
	pid     *os.File
	sockets *os.File // asks about those in net; one at a time

	mu     sync.Mutex // one request at a time
	socket *os.File
}

// request is what the keeper is asked for: mounts, a /dev/pts for one terminal, how
// much memory commands have in what they share, or a PID namespace for one command in
// the mounts whose namespace comes along.
type request struct {
	Mounts   *mounts
	Terminal bool
	Usage    bool
}

// response is what comes back beside descriptors.
type response struct {
	Error  string
	NoProc string
	Own    []string // with mounts: which directories the descriptors after the first are

	Used    int64    // bytes
	Devices []uint64 // of the file systems among that
}

// owned are directories that commands have to themselves.
func owned() []string { return append(scratch(), "/proc", "/dev/pts") }

// newKeeper starts the keeper: as root without a user namespace, if root may.
func newKeeper() (*keeper, error) {
	const flags = unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID
	if os.Geteuid() == 0 {
		if k, err := startKeeper(flags); err == nil {
			return k, nil
		}
	}
	return startKeeper(flags | unix.CLONE_NEWUSER)
}

func startKeeper(flags uintptr) (*keeper, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	attr := &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
	if flags&unix.CLONE_NEWUSER != 0 {
		uid, gid := os.Geteuid(), os.Getegid()
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_CHROOT}
		// The maps are written through /proc, which is shut for a process that cannot be looked into.
		if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && dumpable == 0 {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
			defer func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }()
		}
	}
	p, err := os.StartProcess("/proc/self/exe", []string{"mcp-keeper"}, &os.ProcAttr{
		Dir: "/", Env: []string{role + "=" + roleKeeper}, Files: []*os.File{nil, nil, nil, theirs}, Sys: attr,
	})
	if err != nil {
		ours.Close()
		return nil, err
	}
	k := &keeper{process: p, socket: ours, gone: make(chan struct{})}
	go func() {
		_, _ = p.Wait()
		close(k.gone)
	}()
	theirs.Close() // else nobody notices that the keeper has ended
	hello, files, err := k.receive()
	if err == nil && len(files) != 5 {
		closeFiles(files)
		err = fmt.Errorf("%d descriptors instead of 5", len(files))
	}
	if err != nil {
		k.close()
		return nil, err
	}
	k.noProc = hello.NoProc
	k.user, k.ipc, k.pid, k.net, k.sockets = files[0], files[1], files[2], files[3], files[4]
	if flags&unix.CLONE_NEWUSER == 0 {
		k.user.Close()
		k.user = nil
	}
	return k, nil
}

// ask sends a request and waits for the answer.
func (k *keeper) ask(r request, with ...*os.File) (answer response, files []*os.File, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := json.Marshal(r)
	if err != nil {
		return answer, nil, err
	}
	if err := sendFiles(k.socket, text, with); err != nil {
		return answer, nil, fmt.Errorf("namespaces: %w", err)
	}
	return k.receive()
}

func (k *keeper) receive() (r response, files []*os.File, err error) {
	text, files, err := receiveFiles(k.socket)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil {
		closeFiles(files)
		return r, nil, fmt.Errorf("namespaces: %w", err)
	}
	return r, files, nil
}

// space asks for a PID namespace for one command, in a copy of the mounts.
func (k *keeper) space(mounts *os.File) (*space, error) {
	_, files, err := k.ask(request{}, mounts)
	if err != nil {
		return nil, err
	}
	s := &space{init: files[0], pid: files[1], mounts: files[2]}
	if s.number, err = strconv.Atoi(fdinfo(int(s.init.Fd()), "Pid")); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ended reports whether the keeper is gone, and all that was in its namespaces.
func (k *keeper) ended() bool {
	select {
	case <-k.gone:
		return true
	default:
		return false
	}
}

func (k *keeper) close() {
	_ = k.process.Kill()
	<-k.gone
	k.mu.Lock()
	defer k.mu.Unlock()
	k.socket.Close()
}

// fdinfo is what the kernel tells of a descriptor of this process under a name; "" for nothing.
func fdinfo(fd int, name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// socketPair is for messages with descriptors between this process and a child.
func socketPair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs"), nil
}

func sendFiles(socket *os.File, text []byte, files []*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	defer runtime.KeepAlive(files)
	for {
		if err := unix.Sendmsg(int(socket.Fd()), text, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL); err != unix.EINTR {
			return err
		}
	}
}

func receiveFiles(socket *os.File) (text []byte, files []*os.File, err error) {
	text, rights := make([]byte, 128<<10), make([]byte, unix.CmsgSpace(4*16))
	n, size := 0, 0
	for err = unix.EINTR; err == unix.EINTR; {
		n, size, _, _, err = unix.Recvmsg(int(socket.Fd()), text, rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	for _, m := range messages {
		fds, _ := unix.ParseUnixRights(&m)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "namespace"))
		}
	}
	if n == 0 && err == nil {
		err = errors.New("the process that makes them has ended")
	}
	return text[:n], files, err
}

// What follows runs in the keeper.

// stock is a thread with mounts of its own. On its /tmp, which no command sees,
// are the directories that commands share, each a file system: mounts take them
// from there.
type stock struct {
	*thread
	made      map[string]string // where a scratch directory for some kept paths is
	terminals []devpts          // for commands that have not begun, the latest last
}

// devpts is the /dev/pts of one terminal, not yet mounted anywhere.
type devpts struct {
	dev  uint64
	tree int
}

const maxTerminals = 64 // of those that no command was started with, for one

// runKeeper makes the namespaces, says so, and answers until the server has gone.
func runKeeper(socket *os.File) {
	unix.CloseOnExec(int(socket.Fd()))
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE)
	signal.Ignore(unix.SIGCHLD) // the kernel then reaps by itself
	s := &stock{made: map[string]string{}}
	var answer response
	files, err := s.begin(&answer)
	for {
		if err != nil {
			answer.Error = err.Error()
		}
		text, err2 := json.Marshal(answer)
		if err2 != nil || sendFiles(socket, text, files) != nil {
			return
		}
		closeFiles(files)
		text, with, err3 := receiveFiles(socket)
		if err3 != nil {
			return // the server has gone; the end of this process is that of all in its namespace
		}
		answer, files = response{}, nil
		var r request
		switch err = json.Unmarshal(text, &r); {
		case err != nil:
		case r.Mounts != nil:
			files, err = s.mounts(*r.Mounts, &answer)
		case r.Terminal:
			files, err = s.terminal()
		case r.Usage:
			err = s.run(func() error { s.usage(&answer); return nil })
		case len(with) == 1:
			files, err = newSpace(with[0])
		default:
			err = errors.New("an unknown request")
		}
		closeFiles(with)
	}
}

// begin makes what is there once, and opens the namespaces.
func (s *stock) begin(answer *response) (files []*os.File, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return nil, fmt.Errorf("mounts of their own: %w", err)
	}
	for _, kind := range []string{"user", "ipc", "pid"} {
		f, err := os.Open("/proc/self/ns/" + kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		files = append(files, f)
	}
	err = runOnce(func() error { // the open file keeps the namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		without, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		asks, err := diagnosing()
		files = append(files, without, os.NewFile(uintptr(asks), "sockets"))
		return errors.Join(err, loopback())
	})
	if err != nil {
		return nil, fmt.Errorf("net: %w", err)
	}
	s.thread, err = newThread(func() error {
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return err
		}
		proc, err := unix.OpenTree(unix.AT_FDCWD, "/proc", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return err
		}
		defer unix.Close(proc)
		if err := empty("/tmp", "mode=700"); err != nil {
			return err
		}
		if err := errors.Join(os.Mkdir("/tmp/proc", 0o755), os.Mkdir("/tmp/pts", 0o755)); err != nil {
			return err
		}
		if err := mountProc("/tmp/proc"); err != nil {
			answer.NoProc = err.Error() // as in containers, where parts of /proc are covered
			if err := unix.MoveMount(proc, "", unix.AT_FDCWD, "/tmp/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
				return err
			}
		}
		const options = "newinstance,ptmxmode=0666,mode=0600"
		if err := unix.Mount("devpts", "/tmp/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("terminals: %w", err)
		}
		return nil
	})
	s.made["/proc"], s.made["/dev/pts"] = "/tmp/proc", "/tmp/pts"
	return files, err
}

// mountProc mounts the /proc of the calling thread's PID namespace. A process that may not be looked into is
// not even seen there (Linux 5.8).
func mountProc(dir string) error {
	return unix.Mount("proc", dir, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=ptraceable")
}

// loopback turns on lo, so that tests of servers work.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	return nil
}

// mounts makes the mounts and opens their namespace, and in it the directories
// that commands have to themselves.
func (s *stock) mounts(m mounts, answer *response) (files []*os.File, err error) {
	trees := map[string]int{}
	defer func() {
		for _, tree := range trees {
			unix.Close(tree)
		}
	}()
	for _, dir := range owned() {
		if slices.Contains(scratch(), dir) && (m.Writable || !isDir(dir)) {
			continue // what is allowed as a whole is what there is
		}
		err = s.run(func() (err error) { trees[dir], err = s.tree(dir, m); return err })
		if err != nil {
			return nil, err
		}
	}
	err = runOnce(func() error { // the open file keeps the namespace
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return err
		}
		space, err := os.Open("/proc/thread-self/ns/mnt")
		if err != nil {
			return err
		}
		files = append(files, space)
		if err := m.make(trees); err != nil {
			return err
		}
		for _, dir := range owned() {
			if _, is := trees[dir]; !is {
				continue
			}
			fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			files, answer.Own = append(files, os.NewFile(uintptr(fd), dir)), append(answer.Own, dir)
		}
		return nil
	})
	if err != nil {
		closeFiles(files)
		return nil, err
	}
	return files, nil
}

// terminal makes the /dev/pts of one terminal. The command in it finds that there, and no
// terminal of others: a process that has one open reads what is typed at it and writes what it shows.
func (s *stock) terminal() (files []*os.File, err error) {
	fs, err := unix.Fsopen("devpts", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fs)
	err = errors.Join(unix.FsconfigSetString(fs, "ptmxmode", "0666"), unix.FsconfigSetString(fs, "mode", "0600"), unix.FsconfigCreate(fs))
	if err != nil {
		return nil, fmt.Errorf("devpts: %w", err)
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fmt.Errorf("devpts: %w", err)
	}
	var st unix.Stat_t
	theirs := -1
	if err = unix.Fstat(tree, &st); err == nil {
		theirs, err = unix.FcntlInt(uintptr(tree), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		unix.Close(tree)
		return nil, err
	}
	if s.terminals = append(s.terminals, devpts{st.Dev, tree}); len(s.terminals) > maxTerminals {
		unix.Close(s.terminals[0].tree)
		s.terminals = slices.Delete(s.terminals, 0, 1)
	}
	return []*os.File{os.NewFile(uintptr(theirs), "terminal")}, nil
}

// usage is what the scratch directories and the IPC namespace hold.
func (s *stock) usage(answer *response) {
	answer.Used = ipcUsage()
	for _, at := range s.made {
		var st unix.Stat_t
		var fs unix.Statfs_t
		if unix.Statfs(at, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && unix.Stat(at, &st) == nil {
			answer.Used += int64(fs.Blocks-fs.Bfree)*fs.Bsize + int64(fs.Files-fs.Ffree)*object
			answer.Devices = append(answer.Devices, st.Dev)
		}
	}
}

// tree is a copy of a directory of the stock. What is kept in a scratch directory
// is mounted on names in it, which commands with other rules must not take away:
// so those have another one.
func (s *stock) tree(dir string, m mounts) (int, error) {
	if dir == "/dev/pts" && m.Terminal != 0 {
		i := slices.IndexFunc(s.terminals, func(l devpts) bool { return l.dev == m.Terminal })
		if i < 0 {
			return -1, errors.New("the terminal is not one of this server's")
		}
		tree := s.terminals[i].tree
		s.terminals = slices.Delete(s.terminals, i, i+1)
		return tree, nil
	}
	key := dir
	for _, k := range m.Kept {
		if contains(dir, k.Path) && slices.Contains(scratch(), dir) {
			key += "\x00" + k.Path
		}
	}
	at, ok := s.made[key]
	if !ok {
		if len(s.made) >= 100 {
			return -1, errors.New("too many sets of directories inside " + dir + " were allowed one after the other")
		}
		at = fmt.Sprintf("/tmp/%d%s", len(s.made), strings.ReplaceAll(dir, "/", "-"))
		if err := os.Mkdir(at, 0o755); err != nil {
			return -1, err
		}
		if err := empty(at, "mode=1777,size=512m"); err != nil {
			return -1, err
		}
		s.made[key] = at
	}
	return unix.OpenTree(unix.AT_FDCWD, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
}

// newSpace makes a PID namespace and, in a copy of the mounts, its /proc.
func newSpace(mounts *os.File) (files []*os.File, err error) {
	var pidfd int
	init, err := os.StartProcess("/proc/self/exe", []string{"mcp-init"}, &os.ProcAttr{
		Dir: "/", Env: []string{role + "=" + roleInit}, Files: []*os.File{nil, nil, nil},
		Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID, PidFD: &pidfd},
	})
	if err != nil {
		return nil, fmt.Errorf("first process of a PID namespace: %w", err)
	}
	files = []*os.File{os.NewFile(uintptr(pidfd), "init")}
	open := func(kind string) error {
		f, err := os.Open("/proc/thread-self/ns/" + kind)
		if err == nil {
			files = append(files, f)
		}
		return err
	}
	err = runOnce(func() error {
		if err := unix.Setns(pidfd, unix.CLONE_NEWPID); err != nil {
			return err
		}
		if err := open("pid_for_children"); err != nil {
			return err
		}
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		if err := unix.Setns(int(mounts.Fd()), unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		_ = mountProc("/proc") // where it may not be mounted, that of all commands stays
		return open("mnt")
	})
	if err != nil {
		_ = init.Kill()
		closeFiles(files)
		return nil, err
	}
	return files, nil
}
