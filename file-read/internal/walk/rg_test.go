package walk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/match"
	"github.com/multiollama/mcp-server/file-read/internal/walk"
)

// ripgrep runs rg in dir and gives path:line of every line it prints, in its
// order. It skips the test where there is no rg.
func ripgrep(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	program, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed: nothing to compare the search with")
	}
	cmd := exec.Command(program, append([]string{"--no-config", "--no-ignore-global", "--no-messages", "--sort=path", "--color=never",
		"--no-heading", "--line-number", "--with-filename", "--null", "--max-columns=50"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != 1) {
		t.Fatalf("rg %q: %v", args, err)
	}
	lines := []string{}
	for l := range strings.SplitSeq(string(out), "\n") {
		path, rest, ok := strings.Cut(l, "\x00")
		number, _, _ := strings.Cut(rest, ":")
		if _, err := strconv.Atoi(number); ok && err == nil { // else a word about a binary file
			lines = append(lines, strings.TrimPrefix(path, "./")+":"+number)
		}
	}
	return lines
}

// searched is the same list from walk and match.
func searched(t *testing.T, dir, expr string, o match.Options, w walk.Options) []string {
	t.Helper()
	p, err := match.Compile(expr, o)
	must(t, err)
	lines := []string{}
	_, err = walk.Each(t.Context(), parse(t, dir, "."), w, func(ctx context.Context, f walk.File) match.Result {
		file, _, err := f.Open()
		if err != nil {
			t.Error(err)
			return match.Result{}
		}
		defer file.Close()
		res, err := p.Search(ctx, file, match.Want{MaxText: 1 << 24})
		if err != nil {
			t.Error(err)
		}
		return res
	}, func(f walk.File, res match.Result) bool {
		last := int64(0)
		for _, h := range res.Hits {
			for n := h.Line; n <= h.Line+int64(strings.Count(h.Text, "\n")); n++ {
				if n > last {
					lines = append(lines, fmt.Sprintf("%s:%d", f.Rel(), n))
				}
				last = max(last, n)
			}
		}
		return true
	})
	must(t, err)
	return lines
}

// plantation makes a work tree with files of every kind that a search meets. Not
// among them is a NUL far behind the start of a file: what ripgrep tells of the
// lines before it depends on the files it read earlier, whose lines have made
// its buffer larger.
func plantation(t *testing.T, r *rand.Rand) string {
	t.Helper()
	dir := fixture(t, ".git/info/exclude: *.tmp\n", ".gitignore: /build/\n*.log\n!keep.log\nnode_modules\n", "src/.gitignore: gen_*.go\n/out\n",
		"docs/.gitignore: *\n!*.md\n!.gitignore\n", "empty", "empty dir/", "needle.link => .gitignore")
	dirs := []string{"", "src/", "src/deep/er/", "src/out/", "docs/", "build/", "node_modules/x/", ".hidden/", "src/node_modules/"}
	names := []string{"a.go", "gen_b.go", "c.md", "keep.log", "d.log", "e.tmp", ".env", "needle.txt", "a-b", "a.b", "ä"}
	for range 60 {
		write(t, filepath.Join(dir, pick(r, dirs)+pick(r, names)), prose(r, pick(r, []string{"\n", "\n", "\r\n"}), r.IntN(200)))
	}
	many := prose(r, "\n", 20_000)
	for name, content := range map[string]string{
		"large.txt":   many,
		"large.crlf":  strings.ReplaceAll(many, "\n", "\r\n"),
		"unfinished":  "hay\nneedle and hay",
		"long line":   "x\n" + strings.Repeat("hay ", 80_000) + "needle hay\nneedle\n",
		"huge line":   strings.Repeat("hay ", 800_000) + "needle hay\nneedle\nhay",
		"early.bin":   "needle\n\x00needle\n",
		"utf16le.txt": "\xff\xfe" + inUTF16("needle\r\nhäy needle\nhay\n", 0),
		"utf16be.txt": "\xfe\xff" + inUTF16("hay\nneedle\n", 8),
		"bom.txt":     "\xEF\xBB\xBFneedle\nhay\n",
		"broken.txt":  "a good deal of text\nneedle \xff\n\xff\xfeneedle\n",
		"blank":       "\n\n\n",
	} {
		write(t, filepath.Join(dir, name), content)
	}
	return dir
}

func inUTF16(s string, shift int) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u>>shift), byte(u>>(8-shift)))
	}
	return string(b)
}

func prose(r *rand.Rand, end string, lines int) string {
	words := []string{"needle", "hay", "Needle", "needles", "straw", "func f()", "42", "007", "  ", "needle\tx", "é", "{", "}", "end"}
	var b strings.Builder
	for range lines {
		for range r.IntN(6) {
			b.WriteString(pick(r, words) + pick(r, []string{" ", " ", "", "."}))
		}
		b.WriteString(end)
	}
	return b.String()
}

func TestRipgrepFindsTheSameLines(t *testing.T) {
	dir := plantation(t, seeded(t))
	for _, c := range []struct {
		expr string
		o    match.Options
		args []string
	}{
		{"needle", match.Options{}, nil},
		{"needle", match.Options{FoldCase: true}, []string{"--ignore-case"}},
		{"f()", match.Options{Fixed: true}, []string{"--fixed-strings"}},
		{`^needle`, match.Options{}, nil},
		{`needle$`, match.Options{}, nil},
		{`^$`, match.Options{}, nil},
		{`needle.*hay|straw 4`, match.Options{}, nil},
		{`(?-u:\bneedle\b)`, match.Options{}, nil},
		{`[0-9]{2,3} [a-z]+`, match.Options{}, nil},
		{`[^a-z]needle[^a-z]`, match.Options{}, nil},
		{`(?i)STRAW|é.é`, match.Options{}, nil},
		{`needle\r?\n(hay|needle)`, match.Options{Multiline: true}, []string{"--multiline"}},
		{`\{[^}]*end`, match.Options{Multiline: true}, []string{"--multiline"}},
	} {
		mode := "--crlf"
		if c.o.Multiline {
			mode = "--no-crlf" // there a line feed is what the pattern says it is
		}
		args := append([]string{"--hidden", "--glob=!.git", mode}, c.args...)
		theirs := ripgrep(t, dir, append(args, "--regexp="+c.expr, ".")...)
		expr := strings.NewReplacer("(?-u:", "(?:").Replace(c.expr)
		ours := searched(t, dir, expr, c.o, walk.Options{Recursive: true, Hidden: true, Gitignore: true})
		if len(theirs) < 5 {
			t.Errorf("%q: rg finds only %q", c.expr, theirs)
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("%q: (-rg +ours)\n%s", c.expr, diff)
		}
	}
}

func TestRipgrepListsTheSameFiles(t *testing.T) {
	dir := plantation(t, seeded(t))
	write(t, filepath.Join(dir, "src/.env"), "x")
	for _, c := range []struct {
		args []string
		o    walk.Options
	}{
		{[]string{"--hidden", "--glob=!.git"}, walk.Options{Recursive: true, Gitignore: true, Hidden: true}},
		{[]string{"--hidden", "--no-ignore"}, walk.Options{Recursive: true, Hidden: true}},
		{[]string{"--no-ignore"}, walk.Options{Recursive: true}},
		{[]string{"--no-ignore", "--max-depth=2"}, walk.Options{Recursive: true, MaxDepth: 2}},
		{[]string{"--no-ignore", "--max-depth=1"}, walk.Options{}},
	} {
		theirs := ripgrep(t, dir, append(c.args, "--regexp=", "--max-count=1", "--text", "--no-encoding", ".")...)
		ours := []string{}
		_, err := walk.Each(t.Context(), parse(t, dir, "."), c.o, content, func(f walk.File, read string) bool {
			if read != "" {
				ours = append(ours, f.Rel()+":1")
			}
			return true
		})
		must(t, err)
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("%v %+v: (-rg +ours)\n%s", c.args, c.o, diff)
		}
	}
}

// TestRipgrepStartsInTheMiddleToo compares a search of a directory that inherits
// rules.
func TestRipgrepStartsInTheMiddleToo(t *testing.T) {
	dir := plantation(t, seeded(t))
	write(t, filepath.Join(dir, "src/deep/a.log"), "needle\n")
	write(t, filepath.Join(dir, "src/deep/a.txt"), "needle\n")
	sub := filepath.Join(dir, "src/deep")
	theirs := ripgrep(t, sub, "--hidden", "--crlf", "needle", ".")
	p, err := match.Compile("needle", match.Options{})
	must(t, err)
	ours := []string{}
	o := walk.Options{Recursive: true, Hidden: true, Gitignore: true}
	root := parse(t, dir, "src/deep")
	_, err = walk.Each(t.Context(), root, o, func(ctx context.Context, f walk.File) match.Result {
		res, err := p.Search(ctx, strings.NewReader(content(ctx, f)), match.Want{})
		if err != nil {
			t.Error(err)
		}
		return res
	}, func(f walk.File, res match.Result) bool {
		for _, h := range res.Hits {
			ours = append(ours, fmt.Sprintf("%s:%d", f.Rel(), h.Line))
		}
		return true
	})
	must(t, err)
	if diff := cmp.Diff(theirs, ours); diff != "" || len(ours) == 0 {
		t.Errorf("(-rg +ours)\n%s", diff)
	}
}
