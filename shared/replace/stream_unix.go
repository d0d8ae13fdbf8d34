//go:build linux || darwin

package replace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func (at *place) createFrom(ctx context.Context, src io.Reader) (Result, error) {
	s := &stream{src: src}
	defer s.close()
	err := at.makeFile(ctx, s.fill)
	return at.created(s.res, err)
}

// stream is content that can be read once.
type stream struct {
	src  io.Reader
	res  Result
	read *os.File // the draft that holds all of it, for another draft if that one is of no use
}

// fill is a filling.
func (s *stream) fill(ctx context.Context, d *draft) ([]byte, error) {
	src := s.src
	if s.read != nil {
		src = io.NewSectionReader(s.read, 0, s.res.Bytes)
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(d.file, sum), patient{ctx, src}, make([]byte, chunk))
	if err == nil && s.read == nil {
		s.read, err = duplicate(d.file)
	}
	if err != nil {
		return nil, err
	}
	s.res = Result{Bytes: n, SHA256: hex.EncodeToString(sum.Sum(nil))}
	return sample(d.file, n)
}

func (s *stream) close() {
	if s.read != nil {
		_ = s.read.Close() // nothing was written through it
	}
}

// duplicate is f under another descriptor, which outlives the first.
func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "draft"), nil
}

// patient reads as long as somebody still waits.
type patient struct {
	ctx context.Context
	src io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.src.Read(b)
}

// What a rule is shown of content that is not at hand.
const (
	sampleHead = 64 << 10
	sampleTail = 512
)

// sample is the first bytes of f and, where it is longer, the last ones appended.
func sample(f io.ReaderAt, size int64) ([]byte, error) {
	head := min(size, sampleHead)
	tail := min(size-head, sampleTail)
	b := make([]byte, head+tail)
	if n, err := f.ReadAt(b[:head], 0); int64(n) < head {
		return nil, err
	}
	if n, err := f.ReadAt(b[head:], size-tail); int64(n) < tail {
		return nil, err
	}
	return b, nil
}
