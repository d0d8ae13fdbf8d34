package main

import (
	"context"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/lines"
	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/text"
)

// Limits of one answer that no flag changes.
const (
	wholeFileMax = 100 << 20 // bytes a file may have to be read without a line range
	mediaMax     = 5 << 20   // bytes of an image or another binary in one answer
	headBytes    = 64 << 10  // bytes looked at to tell text from binary
	cheapBytes   = 8 << 20   // bytes a file may have to be counted line by line for its description
)

// reader is what every operation of this server works on: directories that can
// be read, and how much of them one answer may carry.
type reader struct {
	scope    *confine.Scope
	maxBytes int // bytes of content in one answer
	indexing *indexing
	media    []string // MIME types of binaries that may be read: "image/png", "image/*", "*/*"

	places  *lines.LineIndex // where lines lie in large files; nil: not remembered
	buffers *match.Buffers     // of searches; nil: each call has its own
}

// placeBefore is a place before that line, where one is worth its while: in a large file
// that is read where it lies.
func (r *reader) placeBefore(ctx context.Context, p confine.Path, f *confine.Reader, enc text.Encoding, line int64) (lines.Place, error) {
	if r.places == nil || line <= 1 || f.Size() <= lines.MinIndexed || !enc.IsUTF8() {
		return lines.Place{}, nil
	}
	again := func() (confine.Stamp, error) {
		now, err := p.Stat()
		return now.Stamp, err
	}
	return r.places.Before(ctx, lines.File{ReaderAt: f, Stamp: f.Stamp(), Again: again}, line)
}

// mayRead says whether a binary of this MIME type was allowed by the operator.
func (r *reader) mayRead(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	kind, _, _ := strings.Cut(mime, "/")
	return slices.Contains(r.media, mime) || slices.Contains(r.media, kind+"/*") || slices.Contains(r.media, "*/*")
}
