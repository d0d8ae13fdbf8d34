package screen

import (
	"os"
	"path/filepath"
	"testing"
)

// recordings are what real programs wrote to an xterm of 80 columns and 24 rows.
func recordings(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/recordings/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	all := make(map[string]string)
	for _, file := range files {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(p)
	}
	return all
}
