package audit

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhatIsTooLongForADatagramGoesAsASealedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := openPort(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()                                                                      //nolint:errcheck // of a test
	if err := unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1); err != nil { // the least there is
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("FIELD=long\n"), 10_000)
	if err := p.send(long, false); err != errTooLong {
		t.Fatalf("as a datagram it gives %v", err)
	}
	if err := p.send(long, true); err != nil {
		t.Fatal(err)
	}
	got, seals := received(t, l)
	if !bytes.Equal(got, long) {
		t.Errorf("%d bytes came of %d", len(got), len(long))
	}
	if want := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE; seals != want {
		t.Errorf("the seals are %#x, want %#x", seals, want)
	}
}

// received is the file that came without any bytes beside it, and its seals.
func received(t *testing.T, l *net.UnixConn) (content []byte, seals int) {
	t.Helper()
	data, control := make([]byte, 100), make([]byte, 100)
	n, more, _, _, err := l.ReadMsgUnix(data, control)
	if err != nil || n != 0 {
		t.Fatalf("%d bytes came, %v", n, err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:more])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%v, %v", messages, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%v, %v", fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "received")
	defer f.Close()
	if seals, err = unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err != nil {
		t.Fatal(err)
	}
	content, err = io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return content, seals
}
