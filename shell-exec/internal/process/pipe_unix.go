//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// outputPipe is a pipe for what a command writes. Our end does not block; the command's end must, for programs do not
// expect that a write to stdout can say "not now".
func outputPipe() (ours, theirs *os.File, err error) {
	r, w, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(r, true); err != nil {
		_, _ = unix.Close(r), unix.Close(w)
		return nil, nil, err
	}
	return os.NewFile(uintptr(r), "output"), os.NewFile(uintptr(w), "output"), nil
}

// inputPipe is a pipe for what a command reads.
func inputPipe() (theirs, ours *os.File, err error) {
	r, w, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(w, true); err != nil {
		_, _ = unix.Close(r), unix.Close(w)
		return nil, nil, err
	}
	return os.NewFile(uintptr(r), "input"), os.NewFile(uintptr(w), "input"), nil
}

// pipe makes both ends close at an exec, even of a command that another goroutine starts at this moment.
func pipe() (r, w int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		return 0, 0, os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	return ends[0], ends[1], nil
}

// mostInPipe is more than a pipe holds: who has read that much has read all that was there at the beginning.
const mostInPipe = 1 << 20

// rest takes what is in the pipe, and does not wait.
func (d *drain) rest(buffer []byte) {
	raw, err := d.from.SyscallConn()
	if err != nil {
		return
	}
	for taken := 0; taken <= mostInPipe; {
		n := 0
		if raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), buffer) }) != nil || n <= 0 {
			return
		}
		_, _ = d.to.Write(buffer[:n])
		taken += n
	}
}
