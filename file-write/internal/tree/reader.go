package tree

import (
	"context"
	"io"

	"github.com/multiollama/mcp-server/shared/confine"
)

// Archive is a directory read as an archive. It is read by one goroutine.
type Archive struct {
	read  *io.PipeReader
	stop  context.CancelFunc
	done  chan struct{}
	count Count // what Pack said; once done is closed
}

// Reader is what Pack writes, to be read: its errors are errors of Read. The directory
// is in use until the Archive is closed, which it must be.
func Reader(ctx context.Context, d *confine.Dir) *Archive {
	ctx, stop := context.WithCancel(ctx)
	r, w := io.Pipe()
	a := &Archive{read: r, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		var err error
		a.count, err = Pack(ctx, w, d)
		w.CloseWithError(err) // nil is io.EOF
	}()
	return a
}

func (a *Archive) Read(b []byte) (int, error) { return a.read.Read(b) }

// Close ends the reading, also before the end, and waits until the directory is no
// longer in use.
func (a *Archive) Close() error {
	a.stop()
	err := a.read.Close()
	<-a.done
	return err
}

// Count is what the archive holds. It is known when Read has answered io.EOF, and is
// zero after any other error.
func (a *Archive) Count() Count {
	<-a.done
	return a.count
}
