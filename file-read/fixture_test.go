package main

import (
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// readerOf is a reader of a literal fixture (see mcptest.Tree) and the fixture's path.
func readerOf(t *testing.T, entries ...string) (*reader, string) {
	t.Helper()
	dir := mcptest.Tree(t, entries...)
	return readerOn(t, dir, confine.Options{}), dir
}

func readerOn(t *testing.T, dir string, o confine.Options) *reader {
	t.Helper()
	roots, err := confine.Open([]string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { roots.Close() })
	return &reader{scope: confine.NewScope(roots, nil), maxBytes: 128 << 10, buffers: new(match.Buffers)}
}

// is checks a code; the empty one means no error.
func is(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case want != "" && (err == nil || fault.From(err).Code != want):
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}
