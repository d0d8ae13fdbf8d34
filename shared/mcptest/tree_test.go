package mcptest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestATreeIsALiteralWorld(t *testing.T) {
	root := Tree(t, "empty/", "dir/file=a=b\n", "link => dir/file")
	for name, want := range map[string]string{"dir/file": "a=b\n", "link": "a=b\n"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), not %q", name, got, err, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(root, "empty")); err != nil || len(entries) != 0 {
		t.Errorf("empty/ holds %v (%v)", entries, err)
	}
}
