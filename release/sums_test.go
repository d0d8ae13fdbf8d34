package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesThatDifferAreFound(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	if difference(one, other) == nil {
		t.Error("two runs that made nothing are taken for equal")
	}
	for _, dir := range []string{one, other} {
		must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "d", "f"), []byte("x"), 0o600))
	}
	must(t, difference(one, other))
	must(t, os.WriteFile(filepath.Join(other, "d", "f"), []byte("y"), 0o600))
	if err := difference(one, other); err == nil || !strings.Contains(err.Error(), "d/f") {
		t.Errorf("got %v", err)
	}
	must(t, os.WriteFile(filepath.Join(other, "more"), nil, 0o600))
	if difference(one, other) == nil {
		t.Error("a file that only one has is not seen")
	}
}
