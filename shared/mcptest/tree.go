package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tree makes a literal fixture in a new directory and is its path, without links
// in it. An entry is "dir/", "dir/file=content" (with \n and the like as they are
// in Go), or "link => target". Parents are made as needed.
func Tree(t testing.TB, entries ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := plant(root, e); err != nil {
			t.Fatalf("world %q: %v", e, err)
		}
	}
	return root
}

func plant(root, entry string) error {
	if name, target, ok := strings.Cut(entry, " => "); ok {
		return os.Symlink(target, filepath.Join(root, name))
	}
	name, content, isFile := strings.Cut(entry, "=")
	path := filepath.Join(root, name)
	if !isFile {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}
