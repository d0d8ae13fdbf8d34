package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/confine"
)

// connect connects a socket of the command, as the caller would: on a duplicate, which
// is that very socket, to a copy of the address.
func (v *supervisor) connect(n notification) {
	socket, address, err := socketAndAddress(n)
	if err != nil {
		v.once(n, fmt.Sprint(n.Args), func() error { return err })
		return
	}
	defer unix.Close(socket)
	if !v.listener.waits(n) {
		return // its number may have been another's
	}
	cookie, _ := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_COOKIE)
	v.once(n, fmt.Sprint(cookie, address), func() error {
		family, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
		switch {
		case err != nil:
			return err
		case family == unix.AF_UNIX && binary.NativeEndian.Uint16(address) == unix.AF_UNIX:
			return v.connectLocal(n, socket, address)
		case family != unix.AF_UNIX && v.s.level == 1 && !v.rules.Network:
			return unix.EPERM
		case family == unix.AF_NETLINK && len(address) >= 12 && !bytes.Equal(address[4:12], make([]byte, 8)):
			// struct sockaddr_nl is the family, padding, a number and groups, which are 0 for the kernel.
			// Messages to programs, as udev takes them from its like, need a capability (CAP_NET_ADMIN)
			// that this process may have and no command has.
			return unix.EPERM
		}
		return v.perform(socket, address)
	})
}

// socketAndAddress duplicates the socket and copies the address: the command can change neither.
func socketAndAddress(n notification) (socket int, address []byte, err error) {
	const maxSize = 128 // struct sockaddr_storage
	size := int(int32(n.Args[2]))
	if size < 2 || size > maxSize {
		return -1, nil, unix.EINVAL
	}
	address = make([]byte, size)
	local := []unix.Iovec{{Base: &address[0]}}
	local[0].SetLen(size)
	got, err := unix.ProcessVMReadv(int(n.Thread), local, []unix.RemoteIovec{{Base: uintptr(n.Args[1]), Len: size}}, 0)
	if err == nil && got != size {
		err = unix.EFAULT
	}
	if err != nil {
		return -1, nil, err
	}
	socket, err = duplicate(int(n.Thread), int(int32(n.Args[0])))
	return socket, address, err
}

// perform connects. A socket that does not block returns at once; one that does is given
// up when nobody of the command is left.
func (v *supervisor) perform(socket int, address []byte) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	v.mu.Lock()
	over := v.over
	if !over {
		v.connects[socket] = unix.Gettid()
	}
	v.mu.Unlock()
	if over {
		return unix.EINTR
	}
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.connects, socket)
	}()
	for interrupted := false; ; interrupted = true {
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(socket), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
		if errno == 0 || interrupted && errno == unix.EISCONN {
			return nil
		}
		v.mu.Lock()
		over = v.over
		v.mu.Unlock()
		if errno != unix.EINTR || over {
			return errno
		}
	}
}

// wakes is a signal that does nothing but have a system call return. What handles it is the Go
// runtime, which asks the kernel to begin such calls again: letWake takes that back.
const wakes = unix.Signal(60)

var letWake = sync.OnceValue(func() error {
	var action struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	const restart = 0x10000000 // SA_RESTART
	at, size := uintptr(unsafe.Pointer(&action)), unsafe.Sizeof(action.mask)
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(wakes), 0, at, size, 0, 0); e != 0 {
		return e
	}
	const byDefault, ignored = 0, 1
	if action.handler == byDefault || action.handler == ignored {
		return errors.New("the Go runtime does not handle the signal")
	}
	action.flags &^= restart
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(wakes), at, 0, size, 0, 0); e != 0 {
		return e
	}
	return nil
})

// connectLocal connects to a socket of this machine that a command of this server listens
// at, or that the rules name.
func (v *supervisor) connectLocal(n notification, socket int, address []byte) error {
	name := address[2:]
	if len(name) > 0 && name[0] == 0 {
		if err := v.ours(func(l listening) bool { return bytes.Equal(l.name, name) }); err != nil {
			return err
		}
		return v.perform(socket, address)
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	if len(name) == 0 {
		return unix.EINVAL
	}
	file, err := v.openAs(n, string(name))
	if err != nil {
		return err
	}
	defer unix.Close(file)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return unix.ECONNREFUSED
	}
	if !v.named(st) {
		// The device that the file is on. What stat says is another number on some file systems.
		device := ^uint32(0)
		id := fdinfo(file, "mnt_id")
		mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", n.Thread))
		for line := range strings.Lines(string(mounts)) {
			if f := strings.Fields(line); len(f) > 2 && f[0] == id {
				major, minor := pair([]byte(f[2]), ":", 10)
				device = uint32(major<<20 | minor)
				break
			}
		}
		if err := v.ours(func(l listening) bool { return l.inode == uint32(st.Ino) && l.device == device }); err != nil {
			return err
		}
	}
	// The kernel goes to the file that is open here, whatever its name leads to by now.
	open := fmt.Appendf(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), "/proc/self/fd/%d\x00", file)
	return v.perform(socket, open)
}

// openAs opens what a name leads the caller to.
func (v *supervisor) openAs(n notification, name string) (file int, err error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", n.Thread), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.EACCES
	}
	defer unix.Close(root)
	if !filepath.IsAbs(name) {
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", n.Thread))
		if err != nil {
			return -1, unix.EACCES
		}
		name = dir + "/" + name
	}
	if !v.listener.waits(n) {
		return -1, unix.EINTR
	}
	// Its files may be mounted elsewhere than those of this process.
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	return unix.Openat2(root, name, how)
}

// named reports whether the rules name the socket. A link to it counts only where no
// command could have made it.
func (v *supervisor) named(st unix.Stat_t) bool {
	guarded := slices.Concat(v.s.guarded, v.rules.writable())
	return slices.ContainsFunc(v.rules.Sockets, func(path string) bool {
		socket, err := confine.OpenGrant(path, guarded)
		if err != nil {
			return false
		}
		return socket.Lend(func(fd uintptr) error {
			var named unix.Stat_t
			if err := unix.Fstat(int(fd), &named); err != nil || named.Dev != st.Dev || named.Ino != st.Ino {
				return unix.ENOENT
			}
			return nil
		}) == nil
	})
}

// listening is a socket that somebody listens at.
type listening struct {
	socket uint32
	cookie uint64 // of the socket, and of no other one ever
	name   []byte // as it was bound
	inode  uint32 // of its file, and the device of that as the kernel numbers it
	device uint32
}

// ours is nil if the socket that is listened at there is held by a command of this server.
// If there are several that cannot be told apart, all have to be.
func (v *supervisor) ours(there func(listening) bool) error {
	all, err := v.listeners()
	if err != nil {
		return unix.EACCES
	}
	err = unix.ECONNREFUSED // nobody listens
	for _, l := range all {
		switch {
		case !there(l):
		case !v.s.holds(l):
			return unix.EACCES
		default:
			err = nil
		}
	}
	return err
}

const maxListeners = 1000 // that are remembered

// holds reports whether a process of a command has, or had, the socket open. It takes a
// look at all their descriptors, once for a socket.
func (s *Sandbox) holds(l listening) bool {
	s.mu.Lock()
	known := s.listeners[l.cookie]
	s.mu.Unlock()
	if known {
		return true
	}
	want := fmt.Sprintf("socket:[%d]", l.socket)
	for _, t := range s.current() {
		for _, pid := range t.PIDs() {
			dir := fmt.Sprintf("/proc/%d/fd/", pid)
			entries, _ := os.ReadDir(dir)
			leads := func(e os.DirEntry) bool { to, err := os.Readlink(dir + e.Name()); return err == nil && to == want }
			if !slices.ContainsFunc(entries, leads) {
				continue
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.listeners == nil || len(s.listeners) >= maxListeners {
				s.listeners = map[uint64]bool{}
			}
			s.listeners[l.cookie] = true
			return true
		}
	}
	return false
}

// listeners are all that listen at local sockets: in the network of this process, and at
// level 2 in the one that commands have to themselves. A file is the same in all of them.
func (v *supervisor) listeners() ([]listening, error) {
	fd, err := diagnosing()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	all, err := listeners(fd)
	if k := v.s.currentKeeper(); k != nil && err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		more, err := listeners(int(k.sockets.Fd()))
		return append(all, more...), err
	}
	return all, err
}

// diagnosing is a socket by which the kernel is asked about those in the network of
// the calling thread (sock_diag(7)).
func diagnosing() (int, error) {
	return unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
}

func listeners(fd int) (out []listening, err error) {
	const (
		listen = 10    // TCP_LISTEN, which is used for all kinds of sockets
		show   = 1 | 2 // UDIAG_SHOW_NAME, UDIAG_SHOW_VFS
	)
	request := make([]byte, unix.NLMSG_HDRLEN+24)
	order := binary.NativeEndian
	order.PutUint32(request, uint32(len(request)))
	order.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := request[unix.NLMSG_HDRLEN:]
	body[0] = unix.AF_UNIX
	order.PutUint32(body[4:], 1<<listen)
	order.PutUint32(body[12:], show)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	buf := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			return nil, err
		}
		for rest := buf[:n]; len(rest) >= unix.NLMSG_HDRLEN; {
			size := int(order.Uint32(rest))
			if size < unix.NLMSG_HDRLEN || size > len(rest) {
				return nil, unix.EBADMSG
			}
			switch order.Uint16(rest[4:]) {
			case unix.NLMSG_DONE:
				return out, nil
			case unix.NLMSG_ERROR:
				return nil, unix.ENOENT
			case unix.SOCK_DIAG_BY_FAMILY:
				out = append(out, parseListening(rest[unix.NLMSG_HDRLEN:size]))
			}
			rest = rest[min(len(rest), (size+3)&^3):]
		}
	}
}

// parseListening reads struct unix_diag_msg and its attributes.
func parseListening(m []byte) (l listening) {
	const head = 16
	if len(m) < head {
		return l
	}
	order := binary.NativeEndian
	l.socket = order.Uint32(m[4:])
	l.cookie = order.Uint64(m[8:])
	for rest := m[head:]; len(rest) >= 4; {
		size, kind := int(order.Uint16(rest)), order.Uint16(rest[2:])
		if size < 4 || size > len(rest) {
			return l
		}
		switch value := rest[4:size]; {
		case kind == 0: // UNIX_DIAG_NAME
			l.name = bytes.Clone(value)
		case kind == 1 && len(value) >= 8: // UNIX_DIAG_VFS
			l.inode, l.device = order.Uint32(value), order.Uint32(value[4:])
		}
		rest = rest[min(len(rest), (size+3)&^3):]
	}
	return l
}
