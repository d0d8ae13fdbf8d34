package sandbox

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/seccomp"
)

// listener is asked about the calls that a filter answers with Notify, one by one:
// the caller waits meanwhile. Of the arguments only values are what the caller gave;
// what they point to it can change as long as it likes, also after it was looked at.
type listener struct {
	file *os.File
	conn syscall.RawConn
}

// notification is a call of a thread, which waits for an answer.
type notification struct {
	ID     uint64
	Thread uint32 // its number, as this process sees it
	_      uint32
	Number int32
	Arch   uint32
	_      uint64
	Args   [6]uint64
}

type answered struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

const (
	ioctlSetFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
	wakeTogether  = 1          // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: on the same processor, since Linux 6.6
)

// newListener makes one of a descriptor, which is its own from now on.
func newListener(fd int) (*listener, error) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), ioctlSetFlags, wakeTogether)
	err := unix.SetNonblock(fd, true)
	l := &listener{file: os.NewFile(uintptr(fd), "seccomp")}
	if err == nil {
		l.conn, err = l.file.SyscallConn()
	}
	if err != nil {
		l.file.Close()
		return nil, err
	}
	return l, nil
}

// Receive is the next call; io.EOF after the end of all that have the filter. One
// goroutine receives.
func (l *listener) Receive() (n notification, err error) {
	for n.ID == 0 && err == nil {
		e := l.conn.Read(func(fd uintptr) bool {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if got, _ := unix.Poll(ready, 0); got <= 0 {
				return false
			}
			if ready[0].Revents&unix.POLLIN == 0 {
				err = io.EOF
				return true
			}
			n = notification{}
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
			switch errno {
			case 0:
			case unix.ENOENT, unix.EINTR: // the caller was interrupted before it was heard
				n.ID = 0
			default:
				err = errno
			}
			return true
		})
		if err == nil {
			err = e
		}
	}
	return n, err
}

func (l *listener) ioctl(request uintptr, arg unsafe.Pointer) error {
	var errno unix.Errno
	if err := l.conn.Control(func(fd uintptr) { _, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg)) }); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// Waits reports whether the caller still waits: until then its number is its own.
func (l *listener) Waits(n notification) bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.ID)) == nil
}

// Answer ends the call, with 0 for success. An error says that the caller waits no more.
func (l *listener) Answer(n notification, errno unix.Errno) error {
	r := answered{id: n.ID, errno: -int32(errno)}
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// Pass lets the kernel do the call, with what its pointers point to by then.
func (l *listener) Pass(n notification) error {
	r := answered{id: n.ID, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// Close lets all calls fail that are asked about from now on (ENOSYS).
func (l *listener) Close() error { return l.file.Close() }

// canListen reports whether this kernel can ask somebody, who can also take what an
// argument names: a descriptor (Linux 5.6).
func canListen() bool {
	if !seccomp.Available() {
		return false
	}
	action := uint32(seccomp.Notify)
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); e != 0 {
		return false
	}
	_, err := unix.PidfdGetfd(-1, 0, 0)
	return err == unix.EBADF
}
