package match

import (
	"context"
	"io"
)

// SearchAt is [Pattern.Search] of the first size bytes of r.
func (p *Pattern) SearchAt(ctx context.Context, r io.ReaderAt, size int64, w Want) (Result, error) {
	return p.Search(ctx, io.NewSectionReader(r, 0, size), w)
}
