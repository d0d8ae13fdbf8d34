package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shell-exec/internal/procfs"
)

// account is the memory of a tree. The sum of the sizes of its processes misses most of what a
// program can fill: files in memory, System V objects, pipes, sockets, page tables. To find those takes a
// look at every descriptor. So account looks closely only when it could matter: when the
// processes and the whole machine together grew by more than what is left of the limit. A
// control group that counts memory makes close looks unnecessary.
type account struct {
	limits Limits
	parent string          // where to make a control group for the command; "" where none would count
	group  *group          // that has the limits; nil where there is none, or not yet
	keeper *keeper         // of the IPC namespace and the /tmp that commands share, else nil
	before int64           // what was in those at the first look: it is not this command's
	common map[uint64]bool // the devices of those
	dirs   []string        // that the command may write to
	began  time.Time
	least  pool // the machine when it had least since the start

	last     pool  // the machine at the last close look
	resident int64 // the sum of the sizes then
	exact    int64 // what that look found
	looks    int
}

// often is after how many looks one is close anyway: others may free what a tree fills meanwhile.
const often = 16

func newAccount(k killer, c Command) *account {
	a := &account{limits: c.Limits, began: time.Now(), dirs: c.Rules.writable(), least: machinePool()}
	a.group, _ = k.(*group)
	return a
}

// shared is what commands of this server have in the files in memory and the System V objects that only they
// share. Whose it is nobody can tell: what came while a command ran counts as its own.
func (a *account) shared() int64 {
	if a.keeper == nil {
		return 0
	}
	answer, files, err := a.keeper.ask(request{Usage: true})
	closeFiles(files)
	if err != nil {
		return a.before
	}
	a.common = map[uint64]bool{}
	for _, dev := range answer.Devices {
		a.common[dev] = true
	}
	return answer.Used
}

// include puts a process into the control group of the command. That is made now, when the command has lived for a
// moment: it costs as much as a fifth of a short command.
func (a *account) include(pid int) {
	if a.parent == "" {
		return
	}
	if a.group == nil {
		g, err := newGroup(a.parent, a.limits)
		if err != nil {
			a.parent = "" // it is watched
			return
		}
		a.group = g
	}
	if err := a.group.add(pid); err != nil && err != unix.ESRCH {
		a.group.counts = false // not all of it
	}
}

// exhausted reports whether the kernel has ended processes of the group for want of memory.
func (a *account) exhausted() bool {
	if a.group == nil {
		return false
	}
	n, err := procfs.Sizes(a.group.dir+"/memory.events", "oom_kill")
	return err == nil && n[0] > 0
}

// close removes the group, unless it is the holder's.
func (a *account) close() {
	if a.parent != "" && a.group != nil {
		a.group.release()
	}
}

// pool is memory of the whole machine that no size of a process tells of.
type pool struct {
	shared int64 // files in memory, and what is swapped out
	kernel int64 // the kernel's own: pipes, sockets, page tables and the like
}

func machinePool() pool {
	n, err := procfs.Sizes("/proc/meminfo", "Shmem", "SwapTotal", "SwapFree",
		"MemTotal", "MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "SReclaimable")
	if err != nil {
		return pool{}
	}
	return pool{n[0] + n[1] - n[2], n[3] - n[4] - n[5] - n[6] - n[7] - n[8] - n[9]}
}

// since is what p has more than q.
func (p pool) since(q pool) pool { return pool{max(0, p.shared-q.shared), max(0, p.kernel-q.kernel)} }

// memory is what the tree uses, and what it could be using. Only a close look can find more than the limit.
func (a *account) memory(all []process) (used, possible int64) {
	if len(all) == 0 {
		return 0, 0
	}
	own := int64(0)
	if a.looks++; a.looks == 1 { // a command that ends at once never gets here: that would cost a few percent of it
		a.last = a.least
		a.before = a.shared()
	} else {
		own = max(0, a.shared()-a.before)
	}
	resident := own
	for _, p := range all {
		resident += p.memory
	}
	if a.limits.Memory == 0 {
		return resident, resident
	}
	if a.group != nil && a.group.counts {
		return min(resident, a.limits.Memory), resident
	}
	now := machinePool()
	a.least = pool{min(a.least.shared, now.shared), min(a.least.kernel, now.kernel)}
	grown := now.since(a.last)
	possible = a.exact + max(0, resident-a.resident) + grown.shared + grown.kernel
	if possible <= a.limits.Memory && a.looks%often != 0 {
		return min(resident, possible), possible
	}
	a.exact = own + a.closely(all, own, now.since(a.least))
	a.resident, a.last = resident, now
	return a.exact, a.exact
}

// object is about what a descriptor, an inode and other small things take of the kernel's memory.
const object = 1 << 10

// ipcUsage is what System V shared memory, message queues and semaphores take in the namespace of this process.
func ipcUsage() (sum int64) {
	const shmInfo, msgInfo, semInfo = 14, 12, 19 // SHM_INFO, MSG_INFO, SEM_INFO
	var shm struct{ ids, total, resident, swapped, attempts, successes uint64 }
	var msg struct{ queues, messages, max, mnb, mni, ssz, bytes, seg int32 }
	var sem struct{ semap, mni, mns, mnu, msl, opm, ume, sets, vmx, all int32 }
	if _, _, e := unix.RawSyscall(unix.SYS_SHMCTL, 0, shmInfo, uintptr(unsafe.Pointer(&shm))); e == 0 {
		sum += int64(shm.resident+shm.swapped) * int64(unix.Getpagesize())
	}
	if _, _, e := unix.RawSyscall(unix.SYS_MSGCTL, 0, msgInfo, uintptr(unsafe.Pointer(&msg))); e == 0 {
		sum += int64(msg.bytes) + 64*int64(msg.messages) + object*int64(msg.queues)
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_SEMCTL, 0, 0, semInfo, uintptr(unsafe.Pointer(&sem)), 0, 0); e == 0 {
		sum += 64*int64(sem.all) + object*int64(sem.sets)
	}
	return sum
}

// closely counts everything of the tree once. own is what is where only this command can write, grown
// what the machine has more than it had at least since the start: what cannot be seen for certain counts up to that.
func (a *account) closely(all []process, own int64, grown pool) int64 {
	h := &holdings{seen: map[file]bool{}, memory: memoryDevices(all), files: own, until: time.Now().Add(lookTime)}
	for dev := range a.common {
		delete(h.memory, dev)
	}
	member := map[int]process{}
	for _, p := range all {
		member[p.pid] = p
	}
	for _, p := range all {
		borrowed := false
		if parent, is := member[p.parent]; is {
			const vm = 1 // KCMP_VM: both have one memory
			order, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(p.via), uintptr(parent.via), vm, 0, 0, 0)
			borrowed = e == 0 && order == 0
		}
		h.process(p, borrowed)
		if h.private+h.buffers > a.limits.Memory {
			break // no need to know how much more
		}
	}
	certain := func() int64 { return h.private + h.buffers + max(h.mapped, h.files) }
	if certain() <= a.limits.Memory && certain()+grown.shared+grown.kernel > a.limits.Memory {
		h.mappings(all)
		h.watches(all)
		h.written(a.dirs, a.began)
	}
	shared := min(h.mapped+h.files+h.maybeFiles, grown.shared)
	return certain() + max(0, shared-max(h.mapped, h.files)) + min(h.maybeBuffers, grown.kernel)
}

// holdings are what processes hold.
type holdings struct {
	memory map[uint64]bool // devices whose files are in memory, and not counted already
	seen   map[file]bool

	private      int64 // anonymous memory, page tables, stacks of threads, small objects
	mapped       int64 // parts of files in memory that processes map
	files        int64 // files in memory that have no name and are open
	buffers      int64 // in pipes and sockets
	maybeFiles   int64 // what files in memory may take in addition
	maybeBuffers int64 // what the kernel may use for pipes, sockets and inodes in addition

	until time.Time // when the look has taken long enough
}

// lookTime is how long a look follows descriptors and mappings, of which a command may have
// millions: its limit would not be applied meanwhile. Private memory is always counted.
const lookTime = time.Second

// outOfTime reports whether the look has to end. What it did not see may hold anything.
func (h *holdings) outOfTime() bool {
	if time.Now().Before(h.until) {
		return false
	}
	h.maybeFiles, h.maybeBuffers = hidden, hidden
	return true
}

// file is an inode.
type file struct{ dev, ino uint64 }

// unseen is what a pipe, a socket or a terminal that cannot be asked holds at most by default.
const unseen = 256 << 10

// process adds one process. With borrowed its memory is its parent's, as between vfork and exec.
func (h *holdings) process(p process, borrowed bool) {
	dir := "/proc/" + strconv.Itoa(p.via)
	h.private += 16 << 10 * int64(p.threads)
	if status, err := procfs.Sizes(dir+"/status", "RssAnon", "RssShmem", "VmSwap", "VmPTE", "FDSize"); err == nil && !borrowed {
		h.private += status[3]
		pss, err := procfs.Sizes(dir+"/smaps_rollup", "Pss_Anon", "Pss_Shmem", "SwapPss", "Pss_File", "Pss")
		switch {
		case (errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrNotExist)) && p.via == p.pid:
			// It ended meanwhile, which commands that start many others do at every look. If only its first thread
			// has, the next look goes through another thread.
			h.private += status[0] + status[2]
			h.mapped += status[1]
		case err != nil: // it hides itself, or the thread that showed its memory is gone
			h.private += status[0] + status[2]
			h.mapped += status[1]
			h.maybeFiles = hidden
			h.maybeBuffers += status[4] * unseen
		case pss[0]+pss[1]+pss[3] == 0: // before Linux 5.4
			h.private += pss[4] + pss[2]
		default:
			h.private += pss[0] + pss[2]
			h.mapped += pss[1]
		}
	}
	h.descriptors(p, dir)
}

// hidden is how much memory a process may have that cannot be looked into.
const hidden = math.MaxInt64 / 4

// descriptors adds what a process holds open.
func (h *holdings) descriptors(p process, dir string) {
	d, err := os.Open(dir + "/fd")
	if err != nil {
		return
	}
	defer d.Close()
	flags := 0
	if p.via != p.pid {
		flags = unix.O_EXCL // PIDFD_THREAD, Linux 6.9
	}
	pidfd, err := unix.PidfdOpen(p.via, flags)
	if err != nil {
		pidfd = -1
	} else {
		defer unix.Close(pidfd)
	}
	for more := true; more && !h.outOfTime(); {
		names, err := d.Readdirnames(512)
		h.private += object * int64(len(names))
		for _, name := range names {
			h.descriptor(int(d.Fd()), pidfd, dir, name)
		}
		more = err == nil
	}
}

// descriptor adds what one descriptor leads to, once.
func (h *holdings) descriptor(fds, pidfd int, dir, name string) {
	var st unix.Statx_t
	if unix.Statx(fds, name, unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st) != nil {
		return // closed meanwhile
	}
	id := file{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
	kind := st.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFCHR && st.Rdev_major == 5 && st.Rdev_minor == 2: // the master of a terminal
		h.maybeBuffers += unseen
		return
	case h.seen[id]:
		return
	case kind == unix.S_IFREG && h.memory[id.dev] && st.Nlink == 0:
		h.files += int64(st.Blocks) * 512
	case kind == unix.S_IFREG && h.memory[id.dev]: // it may have been there before
		h.maybeFiles += int64(st.Blocks) * 512
	case kind == unix.S_IFIFO || kind == unix.S_IFSOCK:
		if n, err := strconv.Atoi(name); err == nil {
			h.buffer(pidfd, n, kind == unix.S_IFSOCK)
		}
		// Descriptors on their way through a socket are nobody's, and may be of full sockets again.
		if flying, err := procfs.Sizes(dir+"/fdinfo/"+name, "scm_fds"); err == nil && flying[0] > 0 {
			h.maybeFiles, h.maybeBuffers = hidden, hidden
		}
	default:
		return
	}
	h.seen[id] = true
}

// buffer adds what a pipe or a socket holds. That is asked of a second descriptor, which the kernel
// gives out for a moment.
func (h *holdings) buffer(pidfd, descriptor int, socket bool) {
	fd, err := unix.PidfdGetfd(pidfd, descriptor, 0)
	if err != nil {
		h.maybeBuffers += unseen
		return
	}
	defer unix.Close(fd)
	waiting, _ := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if !socket {
		if size, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0); err == nil && waiting > 0 {
			h.buffers += int64(size)
		}
		return
	}
	if listens, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); listens != 0 {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); n > 0 {
			h.maybeBuffers = hidden // of connections that nobody has accepted
		}
		return
	}
	var info [9]uint32 // SK_MEMINFO_RMEM_ALLOC and following
	size := uint32(unsafe.Sizeof(info))
	_, _, _ = unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	const received, sent, reserved, queued, backlog = 0, 2, 4, 5, 7
	known := int64(info[received]) + int64(max(info[sent], info[queued])) + int64(info[reserved]) + int64(info[backlog])
	h.buffers += max(known, int64(waiting))
	if known < int64(waiting) {
		// It counts for the socket that has sent it, and may be in many small parts. This is how much a
		// program may let a socket send ahead, at most.
		h.maybeBuffers += 2 * max(int64(number("/proc/sys/net/core/wmem_max")), unseen)
	}
}

// mappings adds the sizes of what is mapped and in memory. A process need not hold such files
// open, and not all of their pages are in its tables.
func (h *holdings) mappings(all []process) {
	for _, p := range all {
		text, err := os.Open("/proc/" + strconv.Itoa(p.via) + "/maps")
		if err != nil {
			h.maybeFiles = hidden
			return
		}
		h.mappingsOf(text)
		text.Close()
	}
}

// mappingsOf reads the mappings of one process, line by line: there may be tens of thousands of
// them, each with a name of four thousand bytes.
func (h *holdings) mappingsOf(text io.Reader) {
	lines := bufio.NewReaderSize(text, 64<<10)
	for !h.outOfTime() {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			if err != io.EOF {
				h.maybeFiles = hidden
			}
			return
		}
		f := bytes.Fields(line) // 7f00-7f08 rw-s 00000000 00:01 1024 /dev/zero (deleted)
		if len(f) < 5 {
			continue
		}
		h.maybeBuffers = min(h.maybeBuffers+object/2, hidden) // for the mapping itself
		major, minor := pair(f[3], ":", 16)
		dev := unix.Mkdev(uint32(major), uint32(minor))
		ino, _ := strconv.ParseUint(string(f[4]), 10, 64)
		if !h.memory[dev] || h.seen[file{dev, ino}] {
			continue
		}
		low, high := pair(f[0], "-", 16)
		h.maybeFiles = min(h.maybeFiles+int64(high-low), hidden)
	}
}

// watches adds what descriptors hold that are no files: the entries of epoll and inotify, and the rules
// of Landlock, which nobody can count.
func (h *holdings) watches(all []process) {
	const entry = 256
	most := int64(4 << 20) // bytes to be read of all
	for _, p := range all {
		dir := "/proc/" + strconv.Itoa(p.via)
		if h.outOfTime() {
			return
		}
		entries, err := os.ReadDir(dir + "/fd")
		if err != nil {
			h.maybeBuffers = hidden
			return
		}
		for _, e := range entries {
			if h.outOfTime() {
				return
			}
			to, _ := os.Readlink(dir + "/fd/" + e.Name())
			size := int64(entry)
			switch to {
			case "anon_inode:[eventpoll]":
			case "anon_inode:inotify", "anon_inode:[inotify]":
				size = object
			case "anon_inode:landlock-ruleset", "anon_inode:[landlock-ruleset]":
				h.maybeBuffers = hidden
				return
			default:
				continue
			}
			f, err := os.Open(dir + "/fdinfo/" + e.Name())
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(io.LimitReader(f, most))
			f.Close()
			if most -= int64(len(text)); most <= 0 {
				h.maybeBuffers = hidden
				return
			}
			h.maybeBuffers = min(h.maybeBuffers+size*int64(bytes.Count(text, []byte("\n"))), hidden)
		}
	}
}

// written adds the files in dirs that lie in memory and were changed since. Commands that may write to the same
// directory share what is written there: nobody can tell whose it is.
func (h *holdings) written(dirs []string, since time.Time) {
	const most = 20000 // entries
	entries := 0
	for _, dir := range dirs {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || !h.memory[st.Dev] {
			continue
		}
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if entries++; entries > most || h.outOfTime() {
				h.maybeFiles, h.maybeBuffers = hidden, hidden
				return fs.SkipAll
			}
			var st unix.Stat_t
			if unix.Lstat(path, &st) != nil || h.seen[file{st.Dev, st.Ino}] || time.Unix(st.Ctim.Unix()).Before(since) {
				return nil
			}
			h.seen[file{st.Dev, st.Ino}] = true
			h.maybeFiles = min(h.maybeFiles+st.Blocks*512, hidden)
			h.maybeBuffers = min(h.maybeBuffers+object, hidden)
			return nil
		})
	}
}

// memoryDevices are the devices whose files lie in memory: those that are mounted where a
// process is, and the kernel's own for memory without a name.
func memoryDevices(all []process) map[uint64]bool {
	out := map[uint64]bool{}
	if fd, err := unix.MemfdCreate("", unix.MFD_CLOEXEC); err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			out[st.Dev] = true
		}
		unix.Close(fd)
	}
	for _, p := range all {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p.via) + "/mountinfo")
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) { // 36 35 0:25 / /dev/shm rw - tmpfs tmpfs rw
			f := bytes.Fields(line)
			if _, kind, _ := bytes.Cut(line, []byte(" - ")); len(f) > 3 && bytes.HasPrefix(kind, []byte("tmpfs ")) {
				major, minor := pair(f[2], ":", 10)
				out[unix.Mkdev(uint32(major), uint32(minor))] = true
			}
		}
		break
	}
	return out
}

// pair is two numbers with something between them.
func pair(text []byte, between string, base int) (first, second uint64) {
	a, b, _ := bytes.Cut(text, []byte(between))
	first, _ = strconv.ParseUint(string(a), base, 64)
	second, _ = strconv.ParseUint(string(b), base, 64)
	return first, second
}
