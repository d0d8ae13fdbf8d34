package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// pattern is what is searched for. Where \w, \s, \b and \d mean ASCII, as they do in
// RE2, ripgrep is told so; it is faster that way too.
type pattern struct{ name, expr string }

func (p pattern) forRipgrep() string {
	for _, class := range []string{`\w`, `\s`, `\b`, `\d`} {
		if strings.Contains(p.expr, class) {
			return "(?-u)" + p.expr
		}
	}
	return p.expr
}

var codePatterns = []pattern{
	{"a word that is nowhere", "ZZQ_NOPE"},
	{"a rare word", "errgroup"},
	{"a common word", "return"},
	{"ignoring case", "(?i)context canceled"},
	{"a short word ignoring case", "(?i)mask"},
	{"one of five words", "Sherlock|Watson|goroutine|mutex|deadlock"},
	{"", `\bfunc\s+\w+Handler\b`},
	{"", `[A-Za-z]+_test\.go`},
	{"", `\w{5}\s+\w{5}\s+\w{5}`},
	{"", `\p{Cyrillic}{3,}`},
	{"", `[0-9]{3}-[A-Z]{4}-[0-9]{3}`},
}

var logPatterns = []pattern{
	{"a rare word", "ZZQ_RARE"},
	{"", `\[ERROR\]`},
	{"a word of every line", "status"},
	{"ignoring case", "(?i)zzq_rare"},
	{"one of five words", "ZZQ_RARE|XXQ_NOPE|hijackLocked99|goparkunlockx|mstartQ"},
	{"", `dur=4999ms`},
	{"", `user=\d+7777 path=/\w+/Hijack`},
	{"", `\d{2}:59:59\.\d{3}Z`},
	{"", `\w{12}\s\w{12}\s\w{12}`},
	{"", `\p{Cyrillic}{3,}`},
	{"", `[0-9]{3}-[A-Z]{4}-[0-9]{3}`},
}

func (p pattern) String() string {
	expr := "`" + strings.ReplaceAll(p.expr, "|", `\|`) + "`"
	if p.name == "" {
		return expr
	}
	return p.name + ", " + expr
}

// ripgrep is one that is installed.
type ripgrep struct{ name, path string }

// ripgreps are the Debian one and the newest; which they are they say themselves.
func (w *world) ripgreps() []ripgrep {
	var all []ripgrep
	add := func(path string) {
		out, err := exec.Command(path, "--version").Output()
		if f := strings.Fields(string(out)); err == nil && len(f) > 1 {
			all = append(all, ripgrep{"ripgrep " + f[1], path})
		}
	}
	if path := w.program("ripgrep from PATH", "rg"); path != "" {
		add(path)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	newest := filepath.Join(w.peers, "@vscode/ripgrep-"+runtime.GOOS+"-"+arch, "bin/rg")
	if w.there("ripgrep from npm", newest) {
		add(newest)
	}
	return all
}

// command has the meaning of our search: hidden files too, no configuration, and of
// all ignore files only .gitignore, or none.
func (r ripgrep) command(root string, ignore bool, args ...string) *exec.Cmd {
	line := []string{"--no-config", "--no-messages", "--hidden", "--no-ignore"}
	if ignore {
		line = []string{"--no-config", "--no-messages", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-parent", "--no-ignore-dot"}
	}
	cmd := exec.Command(r.path, append(append(line, args...), "./")...)
	cmd.Dir = root
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		cmd.Dir, cmd.Args[len(cmd.Args)-1] = filepath.Split(root)
	}
	return cmd
}

// counter is a side that counts lines with ripgrep.
func (r ripgrep) counter(root string, ignore bool, p func(round int) pattern, args ...string) side {
	return side{strings.Join(append([]string{r.name}, args...), " "), func(round int) (sample, error) {
		line := append([]string{"--count", "--no-filename", "--regexp=" + p(round).forRipgrep()}, args...)
		out, took, err := timed(r.command(root, ignore, line...))
		return sample{took, strconv.FormatInt(sumOf(out), 10)}, err
	}}
}

// treeOf is the directory to allow for a search: the place itself or that of a file.
func treeOf(place string) string {
	if info, err := os.Stat(place); err == nil && !info.IsDir() {
		return filepath.Dir(place)
	}
	return place
}

// timed runs a command to its end. That it found nothing, exit code 1, is no failure.
func timed(cmd *exec.Cmd) (out []byte, took float64, err error) {
	var b bytes.Buffer
	cmd.Stdout = &b
	began := time.Now()
	err = cmd.Run()
	took = ms(time.Since(began))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = nil
	}
	return b.Bytes(), took, err
}

// sumOf adds the counts that ripgrep prints, one a line.
func sumOf(out []byte) int64 {
	total := int64(0)
	for line := range bytes.Lines(out) {
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		total += n
	}
	return total
}

// searcher is a side that counts lines by a call of our server.
func searcher(c *client, root string, ignore bool, p func(round int) pattern) side {
	return side{"file-read", func(round int) (sample, error) {
		r := toolCall("search_content_in_files", map[string]any{
			"search_path": root, "regex_pattern": p(round).expr, "recursive": true, "output": "count", "use_gitignore": ignore,
		})
		answer, took, err := c.call(r)
		return sample{ms(took), countIn(answer)}, err
	}}
}

// countIn finds the number of lines in an answer, structured or in words.
func countIn(answer []byte) string {
	for _, mark := range []string{`"matchedLines":`, "[matching lines: "} {
		if _, rest, ok := bytes.Cut(answer, []byte(mark)); ok {
			end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
			return string(rest[:max(end, 0)])
		}
	}
	return ""
}

// searching measures the patterns over a tree or a file, without the index.
func searching(root func(*world) (string, error), patterns []pattern, ignore bool, extra ...[]string) func(*world) ([]measurement, error) {
	return func(w *world) ([]measurement, error) {
		place, err := root(w)
		if err != nil {
			return nil, err
		}
		c, err := w.serve(w.fileRead(treeOf(place), w.indexOff()...)...)
		if err != nil {
			return nil, err
		}
		var all []measurement
		for _, p := range patterns {
			always := func(int) pattern { return p }
			all = append(all, w.against(0.65, p.String(), searcher(c, place, ignore, always), place, ignore, always, extra...))
		}
		return all, warm(all[0])
	}
}

// against sets our side beside every ripgrep, each also with the extra arguments.
func (w *world) against(most float64, name string, ours side, root string, ignore bool, p func(int) pattern, extra ...[]string) measurement {
	m := measurement{name: name, unit: "ms", sides: []side{ours}}
	g := goal{word: "the best ripgrep", most: most}
	for _, r := range w.ripgreps() {
		for _, args := range append([][]string{nil}, extra...) {
			s := r.counter(root, ignore, p, args...)
			m.sides, g.of = append(m.sides, s), append(g.of, s.name)
		}
	}
	m.goals = []goal{g}
	return m
}

// warm brings what is read into the page cache.
func warm(m measurement) error {
	for _, s := range m.sides {
		if _, err := s.take(0); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

const indexFlag = "--search-index"

func (w *world) indexOff() []string {
	if w.has(w.read, indexFlag) {
		return []string{indexFlag, "0"}
	}
	return nil
}

// others are searched for after a first search, another in each round.
var others = []pattern{{"", "goroutine leak"}, {"", "hijackLocked"}, {"", "errgroup"}, {"", "ErrNoProgress"}, {"", "singleflight"},
	{"", "unrecoverable"}, {"", "TestHandshake"}, {"", "ENOTDIR"}, {"", "proxyproto"}}

// repeating measures searches after the first, when what the server remembers of it
// is complete.
func repeating(root func(*world) (string, error), ignore bool) func(*world) ([]measurement, error) {
	return func(w *world) ([]measurement, error) {
		place, err := root(w)
		if err != nil {
			return nil, err
		}
		c, err := w.serve(w.fileRead(place)...)
		if err != nil {
			return nil, err
		}
		first := searcher(c, place, ignore, func(int) pattern { return pattern{"", "the first search"} })
		if _, err := first.take(0); err != nil {
			return nil, err
		}
		if err := still(c); err != nil {
			return nil, err
		}
		all := []measurement{w.against(0.25, "another word each time", searcher(c, place, ignore, other), place, ignore, other)}
		for _, p := range []pattern{codePatterns[3], codePatterns[5], codePatterns[6]} {
			always := func(int) pattern { return p }
			all = append(all, w.against(0.25, p.String(), searcher(c, place, ignore, always), place, ignore, always))
		}
		return append(all, measurement{name: "resident memory after all these", unit: "MB", samples: 1, sides: []side{{"file-read", func(int) (sample, error) {
			return sample{value: c.memory("VmRSS")}, nil
		}}}}), warm(all[0])
	}
}

func other(round int) pattern { return others[round%len(others)] }

// still waits until a server uses no processor for half a second.
func still(c *client) error {
	deadline := time.Now().Add(time.Minute)
	for last, quiet := timeOf(c.pid()), 0; quiet < 5; {
		if time.Now().After(deadline) {
			return errors.New("the server is busy a minute after its first search")
		}
		time.Sleep(100 * time.Millisecond)
		now := timeOf(c.pid())
		if quiet++; now != last {
			last, quiet = now, 0
		}
	}
	return nil
}

// firstFew measures the first 50 lines of a search in path order.
func firstFew(w *world) ([]measurement, error) {
	var all []measurement
	for _, tree := range []struct {
		name string
		root func(*world) (string, error)
	}{{"small", (*world).smallTree}, {"big", (*world).bigTree}} {
		place, err := tree.root(w)
		if err != nil {
			return nil, err
		}
		c, err := w.serve(w.fileRead(treeOf(place), w.indexOff()...)...)
		if err != nil {
			return nil, err
		}
		for _, word := range []string{"return", "the"} {
			r := toolCall("search_content_in_files", map[string]any{
				"search_path": place, "regex_pattern": word, "recursive": true, "max_results": 50,
			})
			m := measurement{name: fmt.Sprintf("`%s`, %s tree", word, tree.name), unit: "ms", warm: 1, goals: []goal{{most: 5}},
				sides: []side{{"file-read", func(int) (sample, error) {
					_, took, err := c.call(r)
					return sample{value: ms(took)}, err
				}}}}
			for _, rg := range w.ripgreps() {
				m.sides = append(m.sides, side{rg.name + " --sort path, head -50", func(int) (sample, error) {
					cmd := rg.command(place, true, "--sort=path", "--line-number", word)
					line := append([]string{"-c", `"$@" | head -50`, "sh"}, cmd.Args...)
					pipe := exec.Command("sh", line...)
					pipe.Dir = cmd.Dir
					_, took, err := timed(pipe)
					return sample{value: took}, err
				}})
			}
			all = append(all, m)
		}
	}
	return all, nil
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
