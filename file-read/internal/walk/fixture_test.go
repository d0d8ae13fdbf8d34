package walk_test

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
)

// parse opens a directory as the only one allowed and parses a name in it.
func parse(t testing.TB, dir, name string) confine.Path {
	t.Helper()
	return parseWith(t, dir, name, confine.Options{})
}

func parseWith(t testing.TB, dir, name string, o confine.Options) confine.Path {
	t.Helper()
	roots, err := confine.Open([]string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roots.Close() })
	p, err := roots.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
