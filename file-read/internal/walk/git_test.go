package walk_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
)

// git runs git in a directory without anybody's configuration. It skips the test
// where there is no git.
func git(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed: nothing to compare the ignore rules with")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if e, ok := err.(*exec.ExitError); err != nil && (!ok || e.ExitCode() != 1 || errs.Len() > 0) {
		t.Fatalf("git %v: %v: %s", args, err, errs.String())
	}
	return string(out)
}

// repository makes a git work tree and gives its directory.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "", "init", "-q")
	return dir
}

func write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// seeded is a source of chance that a failing run names. WALK_SEED repeats one.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("WALK_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("WALK_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

var (
	components = []string{"a", "b", "foo", "bar", "build", "x.o", "x.js", "dist", "a.txt", ".env", "foo.bar.js", "lib", "[x]", "a b", "foo*", "b ", "#c", "!x", `a\b`, "é", "A", "ab", "aab", "-", "]", "x9"}
	lines      = []string{"a", "foo", "build/", "/build", "*.o", "*.js", "foo/*", "foo/**", "**/foo", "**/foo/bar", "a/**/b", "!*.js", "!foo", "/a/b", "a/b/", "*.txt", "x.*", "?.o", "[a-c]", "[!a]", "lib/*.js", "/*", "!/lib", "dist/", "!dist/", "foo*/bar", "**/dist/*.js", `\!x`, "#c", `\#c`, "a b", `a\ b`, `foo\*`, "*.[oj]*", "**", "/**/x.o", "foo/**/bar/*", "!a/b/", "bar ", "bar  ", `b\ `, "*/bar", "b/", "", "/", "!", "!/", "//", "a\t", "foo\r", "**/", "a//b"}
	pieces     = []string{"a", "b", "foo", "x", ".", "*", "**", "***", "?", "/", "/", "/**/", "**/", "/**", "[a-c]", "[!a]", "[^x]", "[[:alpha:]]", "[[:digit:]]", "[[:punct:][:space:]]", "[]]", "[]-]", "[a-", "[", "]", `\`, `\*`, `\\`, `\a`, `\/`, "-", " ", "!", "#", "é", "[\\]]", "[[:x:]]", "[[:alpha]", "[a\\-c]", "[+--]", "[--b]", "A"}
)

// randomLine is a line of a .gitignore file, of the common kinds and others.
func randomLine(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return pick(r, lines)
	}
	line := ""
	for range 1 + r.IntN(5) {
		line += pick(r, pieces)
	}
	return line
}

func randomRules(r *rand.Rand, most int) string {
	file := pick(r, []string{"", "", "", "\xEF\xBB\xBF"})
	end := pick(r, []string{"\n", "\n", "\r\n"})
	for range r.IntN(most + 1) {
		file += randomLine(r) + end
	}
	return strings.TrimSuffix(file, pick(r, []string{end, "none"}))
}

func randomPath(r *rand.Rand) string {
	var parts []string
	for range 1 + r.IntN(4) {
		parts = append(parts, pick(r, components))
	}
	return strings.Join(parts, "/")
}

// TestGitIgnoresTheSamePaths asks git check-ignore about paths that need not
// exist: 20,000, or as many as WALK_CASES says.
func TestGitIgnoresTheSamePaths(t *testing.T) {
	cases, err := strconv.Atoi(os.Getenv("WALK_CASES"))
	if err != nil {
		cases = 20_000
	}
	r := seeded(t)
	ignored := 0
	const batch = 5_000
	for asked := 0; asked < cases; asked += batch {
		ignored += askGit(t, r, min(batch, cases-asked))
	}
	t.Logf("%d of %d paths are ignored", ignored, cases)
	if ignored == 0 || ignored == cases {
		t.Error("all answers are the same: nothing was tested")
	}
}

// askGit makes one work tree of many directories, each with rules of its own
// beside those of the top, and compares the answers to n questions. It says how
// many were yes.
func askGit(t *testing.T, r *rand.Rand, n int) (ignored int) {
	dir := repository(t)
	const each = 100
	files := map[string]string{".git/info/exclude": randomRules(r, 2), ".gitignore": randomRules(r, 1)}
	var paths []string
	for i := 0; i*each < n; i++ {
		sub := fmt.Sprintf("dir%d", i)
		files[sub+"/.gitignore"] = randomRules(r, 6)
		files[sub+"/"+pick(r, components[:8])+"/.gitignore"] = randomRules(r, 3)
		for range each {
			paths = append(paths, sub+"/"+randomPath(r))
		}
	}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	answer := git(t, dir, strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
	theirs := map[string]bool{}
	for p := range strings.SplitSeq(answer, "\x00") {
		theirs[p] = true
	}
	ours := walk.NewOracle(files)
	for _, p := range paths {
		info, err := os.Stat(filepath.Join(dir, p))
		if got := ours.Ignores(p, err == nil && info.IsDir()); got != theirs[p] {
			t.Errorf("%q: we say %v, git says %v; rules:%s", p, got, theirs[p], rulesFor(files, p))
		}
		if theirs[p] {
			ignored++
		}
	}
	return ignored
}

func rulesFor(files map[string]string, path string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if dir := filepath.Dir(name); dir == "." || dir == ".git/info" || strings.HasPrefix(path, dir+"/") {
			fmt.Fprintf(&b, "\n  %s: %q", name, files[name])
		}
	}
	return b.String()
}

// TestGitListsTheSameFiles makes real trees with rules in many directories and
// compares what is left of them.
func TestGitListsTheSameFiles(t *testing.T) {
	r := seeded(t)
	for range 6 {
		dir := repository(t)
		write(t, filepath.Join(dir, ".git/info/exclude"), randomRules(r, 1))
		for range 120 {
			p := filepath.Join(dir, randomPath(r))
			if _, err := os.Lstat(p); err == nil || os.MkdirAll(filepath.Dir(p), 0o755) != nil {
				continue // a file is where a directory should be, or the reverse
			}
			write(t, p, "x")
			if r.IntN(4) == 0 {
				write(t, filepath.Join(filepath.Dir(p), ".gitignore"), randomRules(r, 3))
			}
		}
		theirs := strings.Split(strings.TrimSuffix(git(t, dir, "", "ls-files", "-co", "--exclude-standard", "-z"), "\x00"), "\x00")
		slices.Sort(theirs)
		ours := []string{}
		o := walk.Options{Recursive: true, Hidden: true, Gitignore: true}
		if _, err := walk.Each(t.Context(), parse(t, dir, "."), o, nothing, func(f walk.File, _ bool) bool {
			ours = append(ours, f.Rel())
			return true
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(ours)
		if theirs[0] == "" {
			theirs = []string{}
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("%s (-git +ours)\n%s", dir, diff)
		}
	}
}
