package mcptest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update makes golden files and the expectations inside scripts say what the
// program says now. Read the difference before committing it.
var update = flag.Bool("update", false, "rewrite golden files and script expectations")

// Golden compares got with the file at path; with -update the file is written
// instead.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := rewrite(path, got); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (- file, + now; go test -update rewrites it):\n%s", path, diff)
	}
}

func rewrite(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

// Indent is JSON laid out for reading, with a final line feed. What is not
// JSON comes back as it is.
func Indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String() + "\n"
}
