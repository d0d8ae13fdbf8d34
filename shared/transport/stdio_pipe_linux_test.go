package transport

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAPipeIsMadeWiderAndNothingElse(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size := func() int {
		n, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if size() >= wide {
		t.Fatal("a pipe is as wide already: nothing was tested")
	}
	if widen(w); size() != wide {
		t.Errorf("%d bytes", size())
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []any{file, file.Close(), file, new(bytes.Buffer), nil} { // open, and closed
		widen(stream)
	}
}
