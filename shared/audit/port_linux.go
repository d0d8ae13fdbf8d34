package audit

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// port is a socket that belongs to nobody: each datagram names the path it goes to, so
// that a log that was started again is found without a new socket, which a restricted
// process cannot make.
type port struct {
	fd int
	to unix.SockaddrUnix
}

func openPort(path string) (*port, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Type() != os.ModeSocket {
		err = fmt.Errorf("%s is no socket", path)
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &port{fd, unix.SockaddrUnix{Name: path}}, nil
}

func (p *port) close() error { return unix.Close(p.fd) }

// send sends one datagram and never waits.
func (p *port) send(b []byte, large bool) error {
	err := unix.Sendto(p.fd, b, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, &p.to)
	if !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	if !large {
		return errTooLong
	}
	return p.sendFile(b)
}

// sendFile sends a sealed file in memory instead of what it holds.
func (p *port) sendFile(b []byte) error {
	fd, err := unix.MemfdCreate("mcp-audit", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "mcp-audit")
	defer f.Close() //nolint:errcheck // the receiver has its own
	if _, err := f.Write(b); err != nil {
		return err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return err
	}
	return unix.Sendmsg(p.fd, nil, unix.UnixRights(int(f.Fd())), &p.to, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// isBusy says that the receiver has not read what it was sent before.
func isBusy(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS) }
