package main

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/confine"
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
	maxBytes int      // bytes of content in one answer
	media    []string // MIME types of binaries that may be read: "image/png", "image/*", "*/*"
}

// mayRead says whether a binary of this MIME type was allowed by the operator.
func (r *reader) mayRead(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	kind, _, _ := strings.Cut(mime, "/")
	return slices.Contains(r.media, mime) || slices.Contains(r.media, kind+"/*") || slices.Contains(r.media, "*/*")
}
