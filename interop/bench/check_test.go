package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestOurSearchFindsTheLinesOfRipgrep compares path, number and text of every line
// that the patterns of the benchmark find in some packages of Go.
func TestOurSearchFindsTheLinesOfRipgrep(t *testing.T) {
	w := &world{peers: "none"}
	installed := w.ripgreps()
	if len(installed) == 0 && os.Getenv("INTEROP") == "required" {
		t.Fatal("ripgrep is not installed")
	}
	if len(installed) == 0 {
		t.Skip("SKIPPED: ripgrep is not installed: nothing to compare with")
	}
	src, err := w.smallTree()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "file-read")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../../file-read"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := 0
	for _, dir := range []string{"net", "unicode"} {
		n, differences, err := compare(program, filepath.Join(src, dir), installed[0], t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		if differences > 0 {
			t.Errorf("%s: %d differences in %d lines", dir, differences, n)
		}
		lines += n
	}
	if lines < 10_000 {
		t.Errorf("only %d lines were compared", lines)
	}
}

func TestDifferencesAreTold(t *testing.T) {
	at := func(path, line, text string) found { return found{path, line, text} }
	theirs := []found{at("a", "1", "x"), at("a", "2", "y"), at("b", "1", "z")}
	for _, c := range []struct {
		name string
		ours []found
		want []string
	}{
		{"none", theirs, nil},
		{"a line is missing", theirs[1:], []string{"- a:1:x"}},
		{"the last line is missing", theirs[:2], []string{"- b:1:z"}},
		{"a line too many", append(theirs[:2:2], at("a", "3", "!"), theirs[2]), []string{"+ a:3:!"}},
		{"a line too many at the end", append(theirs[:3:3], at("c", "3", "!")), []string{"+ c:3:!"}},
		{"another text", []found{theirs[0], at("a", "2", "Y"), theirs[2]}, []string{"- a:2:y", "+ a:2:Y"}},
		{"another order", []found{theirs[1], theirs[0], theirs[2]}, []string{"+ a:2:y", "out of order: a:2:y"}},
	} {
		if got := compared(theirs, c.ours); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
