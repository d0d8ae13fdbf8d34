package diff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/diff"
)

// apply is a patch program that forgives nothing: every number and every line of
// context must be right.
func apply(old, patch string) (string, error) {
	if patch == "" {
		return old, nil
	}
	source, lines := cut(old), cut(patch)
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
		return "", fmt.Errorf("no header")
	}
	var out []string
	at := 0
	for lines = lines[2:]; len(lines) > 0; {
		var h hunk
		if err := h.parse(lines[0]); err != nil {
			return "", err
		}
		if h.oldFrom < at || h.oldFrom > len(source) {
			return "", fmt.Errorf("hunk %q is not where it says", lines[0])
		}
		out = append(out, source[at:h.oldFrom]...)
		if at = h.oldFrom; len(out) != h.newFrom {
			return "", fmt.Errorf("hunk %q begins in line %d of the new text", lines[0], len(out))
		}
		lines = lines[1:]
		for h.oldLines > 0 || h.newLines > 0 {
			if len(lines) == 0 {
				return "", fmt.Errorf("a hunk is cut short")
			}
			sign, text := lines[0][0], lines[0][1:]
			lines = lines[1:]
			if len(lines) > 0 && lines[0] == "\\ No newline at end of file\n" {
				text, lines = strings.TrimSuffix(text, "\n"), lines[1:]
			}
			if sign == ' ' || sign == '-' {
				if at >= len(source) || source[at] != text {
					return "", fmt.Errorf("line %d of the old text is not %q", at, text)
				}
				at, h.oldLines = at+1, h.oldLines-1
			}
			if sign == ' ' || sign == '+' {
				out, h.newLines = append(out, text), h.newLines-1
			}
		}
		if h.oldLines < 0 || h.newLines < 0 {
			return "", fmt.Errorf("a hunk has more lines than it says")
		}
	}
	return strings.Join(append(out, source[at:]...), ""), nil
}

func cut(s string) []string {
	var out []string
	for line := range strings.SplitAfterSeq(s, "\n") {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

type hunk struct{ oldFrom, oldLines, newFrom, newLines int }

func (h *hunk) parse(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[0] != "@@" || fields[3] != "@@" || fields[1][0] != '-' || fields[2][0] != '+' {
		return fmt.Errorf("no hunk: %q", line)
	}
	var err error
	if h.oldFrom, h.oldLines, err = ranged(fields[1][1:]); err != nil {
		return err
	}
	h.newFrom, h.newLines, err = ranged(fields[2][1:])
	return err
}

// ranged is how many lines come before a range, and how many it has.
func ranged(s string) (before, n int, err error) {
	first, count, counted := strings.Cut(s, ",")
	if before, err = strconv.Atoi(first); err != nil {
		return 0, 0, err
	}
	if n = 1; counted {
		if n, err = strconv.Atoi(count); err != nil {
			return 0, 0, err
		}
	}
	if n > 0 {
		before--
	}
	return before, n, nil
}

// FuzzUnified holds that applying a difference to the old text gives the new
// one, with any context, and that one cut short is a beginning of the whole.
func FuzzUnified(f *testing.F) {
	for _, s := range [][2]string{
		{"a\nb\nc\n", "a\nc\n"}, {"", "a"}, {"a", ""}, {"a\n", "a"}, {"a\r\nb", "a\nb\r\n"}, {"\n\n\n", "\n"},
		{"a\nb\na\nb\n", "b\na\nb\na"}, {"x\n--- y\n", "x\n+++ y\n"}, {"\\ No newline\n", "\\ No newline"},
	} {
		f.Add(s[0], s[1], 3, 80)
	}
	f.Fuzz(func(t *testing.T, old, new string, context, limit int) {
		context = context & 7
		whole, truncated := diff.Unified("a", "b", []byte(old), []byte(new), context, 1<<30)
		after, err := apply(old, whole)
		if err != nil || after != new || truncated || (whole == "") != (old == new) {
			t.Fatalf("%q to %q by\n%s\nis %q, %v, truncated %v", old, new, whole, after, err, truncated)
		}
		part, truncated := diff.Unified("a", "b", []byte(old), []byte(new), context, limit)
		if !strings.HasPrefix(whole, part) || truncated != (len(part) < len(whole)) || len(part) > max(0, limit) {
			t.Fatalf("cut to %d: %q, truncated %v", limit, part, truncated)
		}
	})
}

// variant is a text and another made from it by a few changes of lines.
func variant(r *rand.Rand) (old, new string) {
	words := []string{"a", "b", "c", "", "\t}", "return nil", "x\r", "日本", "-- a", "++ b", "@@", "\\ x"}
	ends := func(lines []string) string {
		s := strings.Join(lines, "\n")
		if r.IntN(2) == 0 && s != "" {
			s += "\n"
		}
		return s
	}
	var a, b []string
	for range r.IntN(40) {
		word := words[r.IntN(len(words))]
		a = append(a, word)
		switch r.IntN(8) {
		case 0:
		case 1:
			b = append(b, words[r.IntN(len(words))])
		case 2:
			b = append(b, word, words[r.IntN(len(words))])
		default:
			b = append(b, word)
		}
	}
	return ends(a), ends(b)
}

// TestOtherProgramsApplyIt lets git and patch make the new text from the old one.
func TestOtherProgramsApplyIt(t *testing.T) {
	for _, program := range []struct {
		name    string
		context int // the least: without any, git forgets line ends at the end of a file
		args    []string
	}{
		{"git", 1, []string{"apply", "--whitespace=nowarn", "p"}},
		{"patch", 0, []string{"--binary", "--quiet", "--fuzz=0", "-p1", "-i", "p"}},
	} {
		t.Run(program.name, func(t *testing.T) {
			path, err := exec.LookPath(program.name)
			if err != nil {
				t.Skip(program.name + " is not installed: nothing to apply the differences with")
			}
			r := rand.New(rand.NewPCG(1, 2))
			dir, applied := t.TempDir(), 0
			for i := range 200 {
				old, new := variant(r)
				if old == new || old == "" || new == "" {
					continue // an empty text is no file to git
				}
				patch, _ := diff.Unified("a/f", "b/f", []byte(old), []byte(new), program.context+i%4, 1<<20)
				write(t, filepath.Join(dir, "f"), old)
				write(t, filepath.Join(dir, "p"), patch)
				cmd := exec.Command(path, program.args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%q to %q by\n%s\n%v: %s", old, new, patch, err, out)
				}
				if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != new {
					t.Fatalf("%q to %q by\n%s\nis %q, %v", old, new, patch, got, err)
				}
				applied++
			}
			if applied < 100 {
				t.Errorf("only %d differences were applied", applied)
			}
		})
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
