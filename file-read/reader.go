package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/toolkit"
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
	roots    *confine.Roots
	maxBytes int      // bytes of content in one answer
	media    []string // MIME types of binaries that may be read: "image/png", "image/*", "*/*"

	followRoots bool
	narrowed    narrowed
}

// narrowed remembers the roots of the client last seen, so that not every call
// opens directories. It can only ever hold a subset of reader.roots.
type narrowed struct {
	mu    sync.Mutex
	names []string
	roots *confine.Roots
}

// path is the only way from a name that a client gave to something that can be
// opened.
func (r *reader) path(ctx context.Context, name string) (confine.Path, error) {
	roots, err := r.allowed(ctx)
	if err != nil {
		return confine.Path{}, err
	}
	return roots.Parse(name)
}

// allowed is the operator's directories, narrowed to the client's MCP roots where
// the operator asked for that and the client has some. It never widens.
func (r *reader) allowed(ctx context.Context) (*confine.Roots, error) {
	if !r.followRoots {
		return r.roots, nil
	}
	names, ok, err := toolkit.ClientRoots(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return r.roots, nil
	}
	r.narrowed.mu.Lock()
	defer r.narrowed.mu.Unlock()
	if r.narrowed.roots == nil || !slices.Equal(names, r.narrowed.names) {
		roots, err := r.roots.Narrow(names)
		if err != nil {
			return nil, err
		}
		r.narrowed.names, r.narrowed.roots = names, roots
	}
	return r.narrowed.roots, nil
}

// mayRead says whether a binary of this MIME type was allowed by the operator.
func (r *reader) mayRead(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	kind, _, _ := strings.Cut(mime, "/")
	return slices.Contains(r.media, mime) || slices.Contains(r.media, kind+"/*") || slices.Contains(r.media, "*/*")
}
