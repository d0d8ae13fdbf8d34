package terminal

import "golang.org/x/sys/unix"

// unread says whether something that was typed is still there to be read, and whether that is known.
func (l *line) unread() (left, known bool) {
	err := l.control(func(fd int) error {
		// The other end is opened through ours: its name could be somebody else's by now.
		peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK)
		if errno != 0 {
			return errno
		}
		defer unix.Close(int(peer))
		// Looking at it moves what is on its way to where it is counted.
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(peer), Events: unix.POLLIN}}, 0); err != nil {
			return err
		}
		n, err := unix.IoctlGetInt(int(peer), unix.TIOCINQ)
		left = n > 0
		return err
	})
	return left, err == nil
}

// modes are how the terminal treats what is typed.
func (l *line) modes() (m modes, err error) {
	err = l.control(func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			m = modesOf(uint64(t.Iflag), uint64(t.Lflag), t.Cc[:])
			m.usual = m.usual && t.Iflag&unix.IUCLC == 0
		}
		return err
	})
	return m, err
}

const disabled = 0 // a key of the terminal that is off
