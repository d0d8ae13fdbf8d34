//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe is a pipe whose end here does not block. The command's end does, for programs do not expect that a write to stdout
// can say "not now". Both ends close at an exec, even of a command that another goroutine starts at this moment.
func pipe(output bool) (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	here, there, name := ends[0], ends[1], "output"
	if !output {
		here, there, name = ends[1], ends[0], "input"
	}
	if err := unix.SetNonblock(here, true); err != nil {
		_, _ = unix.Close(here), unix.Close(there)
		return nil, nil, err
	}
	return os.NewFile(uintptr(here), name), os.NewFile(uintptr(there), name), nil
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
