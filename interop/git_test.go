package interop

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// drafts are files of all kinds that git can apply a difference to.
var drafts = []struct {
	name string
	end  string // of a line
	last string // of the file
}{
	{"lf.txt", "\n", "\n"},
	{"crlf.txt", "\r\n", "\r\n"},
	{"open.txt", "\n", ""},
	{"crlf-open.txt", "\r\n", ""},
	{"sub/日本語.txt", "\n", "\n"},
	{"sub/a name with spaces.txt", "\n", "\n"},
}

// words are lines, some of which look like those of a difference.
var words = []string{"a", "b", "", "\tindented", "trailing ", "日本語", "--- a/lf.txt", "+++ b/lf.txt", "@@ -1 +1 @@", "\\ No newline at end of file", "-a", "+a", "\f"}

// someLines are up to n of them.
func someLines(r *rand.Rand, n int) []string {
	lines := make([]string, 1+r.IntN(n))
	for i := range lines {
		lines[i] = words[r.IntN(len(words))]
	}
	return lines
}

// TestGitMakesTheSameOfTheDifferenceThatAnEditAnswers lets git apply it to a copy.
func TestGitMakesTheSameOfTheDifferenceThatAnEditAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	root := mcptest.Tree(t)
	for _, d := range drafts {
		write(t, filepath.Join(root, d.name), strings.Join(someLines(r, 40), d.end)+d.end+"end"+d.last)
	}
	copied := repository(t, root)
	line := server("file-write", root)
	client := mcptest.Start(t, line[0], line[1:]...)
	refused, made := 0, map[string]int{}
	for range 1000 {
		name := drafts[r.IntN(len(drafts))].name
		before := read(t, filepath.Join(root, name))
		result := client.Call("edit_file", map[string]any{"path": name, "edits": someEdits(r, before)})
		if result.IsError {
			refused++ // the old text stands there twice, or an earlier edit has replaced it
			continue
		}
		if made[name]++; before == read(t, filepath.Join(root, name)) {
			t.Fatalf("nothing has changed in %s: %s", name, result.Structured)
		}
		var answer struct{ Diff string }
		if err := json.Unmarshal(result.Structured, &answer); err != nil {
			t.Fatal(err)
		}
		git(t, copied, answer.Diff, "apply", "--whitespace=nowarn", "-")
		if want, got := contents(t, root), contents(t, copied); got != want {
			t.Fatalf("%q in %s by\n%s\nis\n%q with git, and\n%q", before, name, answer.Diff, got, want)
		}
		if sum(made) == 120 {
			break
		}
	}
	t.Logf("%d edits were refused, %v were made", refused, made)
	if sum(made) < 120 || len(made) < len(drafts) {
		t.Errorf("only these edits were made: %v", made)
	}
}

func sum(counts map[string]int) int {
	all := 0
	for _, n := range counts {
		all += n
	}
	return all
}

// someEdits replace pieces of a text, of a few bytes or some lines, by lines. The end
// is never among them: a file without anything is none to git.
func someEdits(r *rand.Rand, content string) []map[string]string {
	lines := strings.SplitAfter(content, "\n")
	var edits []map[string]string
	for range 1 + r.IntN(3) {
		from := r.IntN(len(lines))
		old := strings.Join(lines[from:min(len(lines)-1, from+1+r.IntN(4))], "")
		if old == "" {
			old = "end"
		}
		if fresh := strings.Join(someLines(r, 5), "\n"); r.IntN(4) > 0 {
			edits = append(edits, map[string]string{"old_string": old, "new_string": fresh + "\n"})
		} else {
			edits = append(edits, map[string]string{"old_string": "end", "new_string": fresh + "\nend"})
		}
	}
	return edits
}

// repository makes one of a directory, and is a clone of it.
func repository(t *testing.T, dir string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed")
	}
	copied := filepath.Join(t.TempDir(), "copy")
	git(t, dir, "", "init", "--quiet")
	git(t, dir, "", "add", ".")
	git(t, dir, "", "-c", "user.name=interop", "-c", "user.email=interop@localhost", "commit", "--quiet", "--message", "before")
	git(t, dir, "", "clone", "--quiet", dir, copied)
	return copied
}

// git runs it without anybody's settings.
func git(t *testing.T, dir, stdin string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s\n%s", args, err, out, stdin)
	}
}

// contents is every draft in a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, d := range drafts {
		b.WriteString(d.name + "=" + read(t, filepath.Join(dir, d.name)))
	}
	return b.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
