package terminal

import "golang.org/x/sys/unix"

// unread says that nothing is known: this system does not tell what is still to be read.
func (l *line) unread() (left, known bool) { return false, false }

// modes are how the terminal treats what is typed.
func (l *line) modes() (m modes, err error) {
	err = l.control(func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
		if err == nil {
			m = modesOf(t.Iflag, t.Lflag, t.Cc[:])
		}
		return err
	})
	return m, err
}

const disabled = 0xff // a key of the terminal that is off
