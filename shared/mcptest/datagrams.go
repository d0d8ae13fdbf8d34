package mcptest

import (
	"net"
	"os"
	"testing"
	"time"
)

// Datagrams is a local socket in place of a log of the system.
type Datagrams struct {
	Path string

	t    testing.TB
	conn *net.UnixConn
}

// Listen opens a socket at path that ends with the test.
func Listen(t testing.TB, path string) *Datagrams {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	d := &Datagrams{path, t, conn}
	t.Cleanup(d.Stop)
	return d
}

// Next waits for the next datagram.
func (d *Datagrams) Next() []byte {
	d.t.Helper()
	room := make([]byte, 512<<10)
	if err := d.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		d.t.Fatal(err)
	}
	n, err := d.conn.Read(room)
	if err != nil {
		d.t.Fatal(err)
	}
	return room[:n]
}

// Stop ends the log as its end does: the socket is gone, and so is its name.
func (d *Datagrams) Stop() {
	_ = d.conn.Close() // it may be closed already
	_ = os.Remove(d.Path)
}
