package restrict

import (
	"context"
	"net"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hall is a fixture of sockets, made before rights are given up: listeners, the first with
// connections that wait to be accepted, and a place to escape to.
type hall struct {
	listeners []*net.TCPListener
	port      int // of the place to escape to
}

// halls are by fixture: the first of the deeds opens one.
var halls sync.Map

func hallOf(w fixture, n int) (hall, error) {
	if n > 0 {
		h, _ := halls.Load(w.Outside)
		return h.(hall), nil
	}
	var h hall
	for range 2 + 2*perKind {
		var c net.ListenConfig
		c.SetMultipathTCP(false)
		l, err := c.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return h, err
		}
		h.listeners = append(h.listeners, l.(*net.TCPListener))
	}
	for range 1 + 2*perKind {
		if _, err := net.Dial("tcp", h.listeners[0].Addr().String()); err != nil {
			return h, err
		}
	}
	h.port = h.listeners[1+2*perKind].Addr().(*net.TCPAddr).Port
	halls.Store(w.Outside, h)
	return h, nil
}

func (h hall) elsewhere() unix.Sockaddr {
	return &unix.SockaddrInet4{Port: h.port, Addr: [4]byte{127, 0, 0, 1}}
}

// inHall does a deed in the hall of its fixture.
func inHall(do func(h hall, n int) error) func(fixture, int) error {
	return func(w fixture, n int) error {
		h, err := hallOf(w, n)
		if err != nil {
			return err
		}
		return do(h, n)
	}
}

// withDescriptor hands the descriptor of a socket to do.
func withDescriptor(socket syscall.Conn, do func(fd int) error) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = do(int(fd)) }); failed != nil {
		return failed
	}
	return err
}

var hallDeeds = map[string]func(h hall, n int) error{
	"accept what waits": func(h hall, _ int) error {
		c, err := h.listeners[0].Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	},
	// A connection that is let go of (AF_UNSPEC) is a socket like a new one.
	"connect anew what was accepted": func(h hall, _ int) error {
		c, err := h.listeners[0].AcceptTCP()
		if err != nil {
			return err
		}
		defer c.Close()
		return withDescriptor(c, func(fd int) error {
			var nowhere [16]byte // of family AF_UNSPEC
			if _, _, e := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&nowhere)), unsafe.Sizeof(nowhere)); e != 0 {
				return e
			}
			return waitFor(unix.Connect(fd, h.elsewhere()))
		})
	},
	"connect by sending what listened": func(h hall, n int) error {
		return withDescriptor(h.listeners[n], func(fd int) error {
			if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != nil {
				return err
			}
			return waitFor(unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN|unix.MSG_NOSIGNAL, h.elsewhere()))
		})
	},
	"listen anew": func(h hall, n int) error {
		return withDescriptor(h.listeners[n], func(fd int) error { return unix.Listen(fd, 1) })
	},
}

// waitFor takes a connection that is under way for one.
func waitFor(err error) error { return tolerate(err, unix.EINPROGRESS) }
