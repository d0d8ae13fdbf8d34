package lines

import (
	"context"
	"io"
)

// Small reads with borders where the tests want them: blocks of a few bytes, and
// a size up to which all lines are counted.
type Small struct {
	Block, Ring int
	CountAll    int64
}

func (s Small) Read(ctx context.Context, r io.ReaderAt, size int64, w Want) (Window, error) {
	return s.sizes().read(ctx, r, size, w)
}

func (s Small) ReadStream(ctx context.Context, r io.Reader, w Want) (Window, error) {
	return s.sizes().readStream(ctx, r, w)
}

func (s Small) sizes() sizes {
	return sizes{block: s.Block, near: (s.Block + 1) / 2, ring: s.Ring, countAll: s.CountAll}
}
