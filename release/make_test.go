package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestManualAndCompletionsAreReadByTheirPrograms(t *testing.T) {
	readers := map[string][]string{".1": {"man", "--warnings", "--local-file"}, ".bash": {"bash", "-n"}, ".zsh": {"zsh", "-n"}, ".fish": {"fish", "--no-execute"}, ".ps1": nil}
	each(t, func(t *testing.T, s server, program string, _ about) {
		dir := t.TempDir()
		must(t, writeExtra(t.Context(), program, s.name, dir))
		for suffix, line := range readers {
			file := filepath.Join(dir, s.name+suffix)
			if text, err := os.ReadFile(file); err != nil || !bytes.Contains(text, []byte(s.name)) && !bytes.Contains(text, []byte(strings.ReplaceAll(s.name, "-", `\-`))) {
				t.Errorf("%s does not name the server: %v", file, err)
			}
			if len(line) == 0 {
				continue
			}
			if _, err := exec.LookPath(line[0]); err != nil {
				t.Logf("SKIPPED: %s is not here", line[0])
				continue
			}
			read := exec.Command(line[0], append(line[1:], file)...)
			read.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANPAGER=cat")
			var complaints bytes.Buffer
			read.Stderr = &complaints
			if err := read.Run(); err != nil || complaints.Len() > 0 {
				t.Errorf("%v: %v\n%s", read.Args, err, complaints.Bytes())
			}
		}
	})
}

func TestGoreleaserTakesItsConfiguration(t *testing.T) {
	program, err := goreleaser.file()
	must(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("SKIPPED: goreleaser is not built yet, which takes minutes (scripts/release builds it)")
	}
	out, err := exec.Command(program, "check", "goreleaser.yaml").CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("DEPRECATED")) {
		t.Errorf("%v\n%s", err, out)
	}
}
