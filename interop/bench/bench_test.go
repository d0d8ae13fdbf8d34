package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// patterns are searched for by both.
var patterns = []string{
	"ZZQ_NOPE", "errgroup", "return", "(?i)context canceled", "(?i)mask", "Sherlock|Watson|goroutine|mutex|deadlock", `\bfunc\s+\w+Handler\b`,
	`[A-Za-z]+_test\.go`, `\w{5}\s+\w{5}\s+\w{5}`, `\p{Cyrillic}{3,}`, `[0-9]{3}-[A-Z]{4}-[0-9]{3}`,
}

// TestOurSearchFindsTheLinesOfRipgrep compares path, number and text of every line
// that the patterns of the benchmark find in some packages of Go.
func TestOurSearchFindsTheLinesOfRipgrep(t *testing.T) {
	w := &workplace{}
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

func TestIDsAreFoundInAnswers(t *testing.T) {
	for line, want := range map[string]int{
		`{"jsonrpc":"2.0","id":17,"result":{"id":3}}`:                                       17,
		`{"result":{"a":"a long text that is before the id of it"},"jsonrpc":"2.0","id":8}`: 8,
		`{"jsonrpc":"2.0","method":"x"}`:                                                    0,
	} {
		if got := idOf([]byte(line)); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}

func TestRipgrepIsToldThatClassesAreOfASCII(t *testing.T) {
	for expr, want := range map[string]string{`\bfunc\s`: `(?-u)\bfunc\s`, `return`: `return`, `\p{Cyrillic}`: `\p{Cyrillic}`} {
		if got := forRipgrep(expr); got != want {
			t.Errorf("%s: %s", expr, got)
		}
	}
}

func TestTheLogIsAlwaysTheSameAndHasWhatIsSearchedFor(t *testing.T) {
	var a, b bytes.Buffer
	for _, to := range []*bytes.Buffer{&a, &b} {
		if err := writeLog(to, 600<<10); err != nil {
			t.Fatal(err)
		}
	}
	if sha256.Sum256(a.Bytes()) != sha256.Sum256(b.Bytes()) || a.Len() < 600<<10 {
		t.Errorf("%d and %d bytes, or others", a.Len(), b.Len())
	}
	for _, expr := range []string{`\[ERROR\]`, `status`, `dur=\d+ms`, `\p{Cyrillic}{3,}`, `\w{12}\s\w{12}`} {
		if !regexp.MustCompile(expr).Match(a.Bytes()) {
			t.Errorf("nothing matches %s", expr)
		}
	}
	for n, want := range map[int]string{2: "marker ZZQ_RARE\n", 3: "order 093-KXQZ-051\n", 30: "\n"} {
		if got := tail(n); got != want {
			t.Errorf("tail of %d: %q", n, got)
		}
	}
}

func TestACopyEndsWhenThereAreEnoughFiles(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for _, name := range []string{"a/1", "a/2", "b/3", "cache/archive", "c/cache/4"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		left int
		want []string
	}{{2, []string{"a/1", "a/2"}}, {9, []string{"a/1", "a/2", "b/3", "c/cache/4"}}} {
		left, dir := c.left, filepath.Join(to, string(rune('0'+c.left)))
		if err := copyTree(dir, from, &left); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*/*"))
		deep, _ := filepath.Glob(filepath.Join(dir, "*/*/*"))
		var got []string
		for _, f := range append(files, deep...) {
			if info, err := os.Stat(f); err == nil && !info.IsDir() {
				rel, _ := filepath.Rel(dir, f)
				got = append(got, filepath.ToSlash(rel))
			}
		}
		if !slices.Equal(got, c.want) || left != c.left-len(c.want) {
			t.Errorf("%d: %q, left %d", c.left, got, left)
		}
	}
}

func TestARowReportsTheBestOfTheOthersAndWhatFailed(t *testing.T) {
	at := func(values ...float64) func(int) (float64, string, error) {
		return func(n int) (float64, string, error) { return values[min(n, len(values)-1)], "7", nil }
	}
	m := measure(row{name: "work", unit: "ms", times: 3, sides: []side{
		{"ours", at(99, 1, 3, 2)}, {"slow", at(0, 8)}, {"fast", at(0, 4)},
		{"broken", func(int) (float64, string, error) { return 0, "", os.ErrClosed }},
		{"other", func(int) (float64, string, error) { return 5, "8", nil }},
	}})
	if ratio, known := m.ratio(); !known || ratio != 0.5 || m.sides[m.best()].name != "fast" {
		t.Errorf("ratio %v, %v of %s", ratio, known, m.sides[m.best()].name)
	}
	if want := "| work | ours 2.00 ms | slow 8.00 ms<br>fast 4.00 ms<br>broken failed<br>other 5.00 ms | 0.50 |"; m.line() != want {
		t.Errorf("got %s\nwant %s", m.line(), want)
	}
	if want := []string{"broken failed: file already closed", "other found 8, ours 7"}; !slices.Equal(m.notes, want) {
		t.Errorf("notes %q", m.notes)
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 100}, 3.5}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.want)
		}
	}
	if chart := chartOf([]measured{m, {row: row{name: "alone", sides: m.sides[:1]}, medians: []float64{1}}}); !strings.Contains(chart, ">0.50 of fast<") || strings.Contains(chart, "alone") {
		t.Errorf("the chart is %s", chart)
	}
}

// A check compares what searches find with what ripgrep finds: path, number and text
// of every matching line in a directory, in the order of paths.
type check struct {
	root   string
	rg     ripgrep
	client *client
	full   map[string]int // files with more lines than one answer may hold, and how many it held
}

// newCheck starts a server over a directory that answers in words only.
func newCheck(program, root string, rg ripgrep) (*check, error) {
	c, err := start("", []string{program, "--allow-path", root, "--audit-log", "off", "--results", "text", "--max-read-bytes", "1GiB"})
	return &check{root, rg, c, map[string]int{}}, err
}

// found is a line that matches.
type found struct{ path, line, text string }

func (f found) String() string { return f.path + ":" + f.line + ":" + f.text }

const mostLines = 10_000 // of an answer

// differences are the lines that only one of both tells, ours after a +, or that
// stand elsewhere; and the number of lines compared.
func (c *check) differences(p string) (lines int, differ []string, err error) {
	clear(c.full)
	ours, err := c.ours(c.root, p)
	if err != nil {
		return 0, nil, err
	}
	theirs, err := c.theirs(p)
	if err != nil {
		return 0, nil, err
	}
	theirs = c.limited(theirs)
	return len(theirs), compared(theirs, ours), nil
}

// ours searches a directory, and where there is more than an answer may hold, each of
// its entries.
func (c *check) ours(place string, p string) ([]found, error) {
	answer, _, err := c.client.call("search_content_in_files", map[string]any{
		"search_path": place, "regex_pattern": p, "recursive": true, "use_gitignore": false, "max_results": mostLines,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	lines, cut, err := linesIn(answer, c.root)
	if err != nil || !cut {
		return lines, err
	}
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		c.full[lines[0].path] = len(lines)
		return lines, nil
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil, err
	}
	lines = nil
	for _, e := range entries {
		if !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		more, err := c.ours(filepath.Join(place, e.Name()), p)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// linesIn takes an answer in words apart, and tells whether there is more.
func linesIn(answer []byte, root string) (lines []found, cut bool, err error) {
	var a struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, false, err
	}
	for _, c := range a.Result.Content {
		for l := range strings.SplitSeq(c.Text, "\n") {
			if rest, ok := strings.CutPrefix(l, root+string(filepath.Separator)); ok {
				path, rest, _ := strings.Cut(rest, ":")
				number, text, _ := strings.Cut(rest, ":")
				lines = append(lines, found{path, number, text})
			}
			cut = cut || strings.HasPrefix(l, "[the first ")
		}
	}
	return lines, cut, nil
}

func (c *check) theirs(p string) ([]found, error) {
	cmd := c.rg.command(c.root, false, "--sort=path", "--line-number", "--no-heading", "--color=never", "--null", "--regexp="+forRipgrep(p))
	out, _, err := timed(cmd)
	if err != nil {
		return nil, err
	}
	var all []found
	for line := range bytes.Lines(out) {
		path, rest, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte{0})
		number, text, colon := bytes.Cut(rest, []byte(":"))
		if !ok || !colon { // a word about a binary file
			continue
		}
		shown := strings.ToValidUTF8(string(bytes.TrimSuffix(text, []byte("\r"))), "\uFFFD")
		all = append(all, found{strings.TrimPrefix(string(path), "./"), string(number), shown})
	}
	return all, nil
}

// limited leaves out what no answer of ours could hold.
func (c *check) limited(all []found) []found {
	var kept []found
	n, path := 0, ""
	for _, f := range all {
		if f.path != path {
			n, path = 0, f.path
		}
		n++
		if most, full := c.full[f.path]; !full || n <= most {
			kept = append(kept, f)
		}
	}
	return kept
}

// same tells whether a line is shown as it is. Of a long one ours shows a part.
func same(theirs, ours found) bool {
	const shown = 500
	if theirs.path != ours.path || theirs.line != ours.line {
		return false
	}
	return theirs.text == ours.text || len(theirs.text) > shown && len(ours.text) > shown/2 && strings.Contains(theirs.text, ours.text)
}

// compared are the differences of two lists in the same order.
func compared(theirs, ours []found) []string {
	var out []string
	at := map[string]int{}
	for i, f := range ours {
		at[f.path+":"+f.line] = i
	}
	next := 0
	for _, f := range theirs {
		i, ok := at[f.path+":"+f.line]
		switch {
		case !ok:
			out = append(out, "- "+f.String())
			continue
		case i < next:
			out = append(out, "out of order: "+ours[i].String())
		case !same(f, ours[i]):
			out = append(out, "- "+f.String(), "+ "+ours[i].String())
		}
		for ; next < i; next++ {
			out = append(out, "+ "+ours[next].String())
		}
		next = max(next, i+1)
	}
	for ; next < len(ours); next++ {
		out = append(out, "+ "+ours[next].String())
	}
	return out
}

// compare tells what it found of every pattern and gives the numbers of lines and of
// differences.
func compare(program, root string, rg ripgrep, tell func(format string, args ...any)) (lines, differences int, err error) {
	c, err := newCheck(program, root, rg)
	if err != nil {
		return 0, 0, err
	}
	defer c.client.stop()
	for _, p := range patterns {
		n, differ, err := c.differences(p)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", p, err)
		}
		tell("%s, %s: %d lines, %d differences", rg.name, p, n, len(differ))
		for _, d := range differ[:min(5, len(differ))] {
			tell("\t%.200s", d)
		}
		lines, differences = lines+n, differences+len(differ)
	}
	return lines, differences, nil
}
