package sandbox

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Terminal is a new pseudo-terminal for a command. At level 2 it is one that the command finds by its name, and no other
// command does.
func (s *Sandbox) Terminal() (t Terminal, err error) {
	k := s.keeping()
	if k == nil {
		t.Ours, t.Theirs, err = pty.Open()
		return t, err
	}
	_, files, err := k.ask(request{Terminal: true})
	if err != nil {
		return t, err
	}
	defer closeFiles(files)
	fd, err := unix.Openat(int(files[0].Fd()), "ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return t, fmt.Errorf("ptmx: %w", err)
	}
	ours := os.NewFile(uintptr(fd), "ptmx")
	var unlocked int32
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlocked))); e != 0 {
		ours.Close()
		return t, fmt.Errorf("ptmx: %w", e)
	}
	peer, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		ours.Close()
		return t, fmt.Errorf("the end of a terminal: %w", e)
	}
	return Terminal{ours, os.NewFile(peer, "tty")}, nil
}
