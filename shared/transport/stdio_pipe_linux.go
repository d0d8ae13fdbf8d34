package transport

import (
	"os"

	"golang.org/x/sys/unix"
)

// wide is what a pipe may hold, in bytes: as much as anybody may ask for.
const wide = 1 << 20

// widen lets a pipe hold more than the 64 KiB that it has by default, so that a long
// message does not wait for the other end sixteen times as often. It is a wish: what is
// no pipe, and the pipe of one who has too many, stays as it is.
func widen(stream any) {
	f, ok := stream.(*os.File)
	if !ok {
		return
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if now, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && now < wide {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wide)
		}
	})
}
