package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitEnd returns when the child has ended, if the kernel can tell that without a
// thread of this process waiting for it (Linux 5.10): the status is then there.
func awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "process")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(look, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}
