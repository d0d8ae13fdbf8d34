//go:build linux || darwin

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

// line is our end of a pseudo-terminal.
type line struct{ file *os.File }

// openLine is a pseudo-terminal of a size: our end, and the one of the program, which the caller closes.
func openLine(open func() (sandbox.Terminal, error), size screen.Size) (*line, *os.File, error) {
	made, err := open()
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, "this machine has no terminal to give", "Close terminals, or mount /dev/pts").Because(err)
	}
	// Asking it for its name has made our end a blocking one, for which there are no deadlines.
	fd, err := unix.FcntlInt(made.Ours.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	_ = made.Ours.Close()
	if err != nil {
		_ = made.Theirs.Close()
		return nil, nil, fault.From(err)
	}
	if err = unix.SetNonblock(fd, true); err != nil {
		_, _ = unix.Close(fd), made.Theirs.Close()
		return nil, nil, fault.From(err)
	}
	l := &line{os.NewFile(uintptr(fd), made.Ours.Name())}
	if err := l.resize(size); err != nil {
		_, _ = l.close(), made.Theirs.Close()
		return nil, nil, err
	}
	return l, made.Theirs, nil
}

// control runs ask with the descriptor, which stays open meanwhile.
func (l *line) control(ask func(fd int) error) error {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	var asked error
	if err := raw.Control(func(fd uintptr) { asked = ask(int(fd)) }); err != nil {
		return err
	}
	return asked
}

func (l *line) resize(size screen.Size) error {
	err := l.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.Height), Col: uint16(size.Width)})
	})
	if err != nil {
		return fault.New(fault.Internal, "the terminal did not take its size", "Close it, and create another").Because(err)
	}
	return nil
}

// group is the process group in the foreground.
func (l *line) group() (group int, err error) {
	err = l.control(func(fd int) (e error) {
		group, e = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return e
	})
	return group, err
}

// read waits for what the programs write. Its error is that none of them has the terminal any more.
func (l *line) read(p []byte) (int, error) { return l.file.Read(p) }

// patience is how long a write waits for a program that does not read.
const patience = 2 * time.Second

// write types p. It says how much of it was taken; the rest is when ctx ends or the programs do not read.
func (l *line) write(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := l.file.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.file.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := l.file.Write(p)
	stop()
	switch {
	case err == nil:
		return n, nil
	case ctx.Err() != nil:
		return n, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, fault.New(fault.TimedOut, fmt.Sprintf("the program in the terminal does not read: it took %d bytes of %d", n, len(p)),
			"Look at its output, and end it with ^C if it hangs").With("bytes_sent", n).With("bytes", len(p))
	}
	return n, fault.New(fault.NoTerminal, "the terminal has ended", "Create another one").Because(err)
}

func (l *line) close() error { return l.file.Close() }

func signalNumber(name string) int { return int(unix.SignalNum(name)) }

// modesOf reads the settings of a terminal.
func modesOf(input, local uint64, keys []uint8) modes {
	off := uint8(disabled)
	m := modes{canonical: local&unix.ICANON != 0}
	m.signals = local&unix.ISIG != 0 && local&unix.NOFLSH == 0 && keys[unix.VINTR] == 'C'-'@'
	m.usual = keys[unix.VERASE] == 0x7f && keys[unix.VKILL] == 'U'-'@' && input&(unix.ISTRIP|unix.IGNCR|unix.PARMRK) == 0
	for key, usual := range map[int]uint8{
		unix.VINTR: 'C', unix.VQUIT: '\\', unix.VEOF: 'D', unix.VSUSP: 'Z', unix.VREPRINT: 'R', unix.VWERASE: 'W', unix.VLNEXT: 'V',
	} {
		m.usual = m.usual && (keys[key] == usual-'@' || keys[key] == off)
	}
	if m.canonical { // else a line editor is at work, which takes the ends of lines as they come
		m.usual = m.usual && keys[unix.VEOL] == off && keys[unix.VEOL2] == off && keys[unix.VEOF] == 'D'-'@' &&
			input&unix.ICRNL != 0 && input&unix.INLCR == 0
	}
	return m
}
