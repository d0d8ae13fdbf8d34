// Command bench measures the servers of this project beside the best of other
// people's programs, in one run, and writes what it found as Markdown and a chart.
// A number is for a reader: it stands beside that of its peers from the same run,
// and beside the goal that it was to reach.
//
// The sides of a measurement take turns, so that a machine whose speed drifts slows
// all; the median of each is told. It refuses to fail because of a number.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type options struct {
	read, write, run     string
	modules, peers, node string
	cache, out, only     string
	samples, calls       int
	quick, check, clean  bool
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = o.do()
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.read, "file-read", "dist/file-read", "our reading binary")
	f.StringVar(&o.write, "file-write", "dist/file-write", "our writing binary")
	f.StringVar(&o.run, "shell-exec", "dist/shell-exec", "our running binary")
	f.StringVar(&o.modules, "modules", "interop/node_modules", "where the reference server is")
	f.StringVar(&o.peers, "peers", "interop/bench/peers/node_modules", "where the peers that run commands are, and a ripgrep")
	f.StringVar(&o.node, "node", "node", "the node that runs them")
	f.StringVar(&o.cache, "cache", "", "where corpora and results are kept between runs (default: mcp-server-bench in the user's cache directory)")
	f.StringVar(&o.out, "o", "docs/benchmarks.md", "the page; the chart lies beside it; - for the page on stdout")
	f.StringVar(&o.only, "only", "", "only the sections whose keys begin with one of these, such as search-big,start")
	f.IntVar(&o.samples, "n", 9, "samples of what takes long")
	f.IntVar(&o.calls, "calls", 2000, "samples of what takes less than a millisecond")
	f.BoolVar(&o.quick, "quick", false, "few samples, none taken again, the page on stdout: for working on this program")
	f.BoolVar(&o.check, "check", false, "compare the lines that searches find with those of ripgrep, and measure nothing")
	f.BoolVar(&o.clean, "clean", false, "remove what is kept between runs, and measure nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.samples, o.calls, o.out = min(o.samples, 3), min(o.calls, 100), "-"
	}
	if o.cache != "" {
		return o, nil
	}
	cache, err := os.UserCacheDir()
	o.cache = filepath.Join(cache, "mcp-server-bench")
	return o, err
}

func (o options) do() error {
	switch {
	case o.clean:
		return os.RemoveAll(o.cache)
	case o.check:
		return checkAll(o)
	}
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.remove()
	w.interrupted()
	file := filepath.Join(o.cache, "results.json")
	found := loadResults(file)
	found.Beside = w.beside()
	for _, s := range sections {
		if s.wanted(o.only) {
			found.put(s.measure(w, o.spare()))
			if err := o.keep(found, file); err != nil {
				return err
			}
		}
	}
	if o.out == "-" {
		_, err := fmt.Print(page(found, o.profiles()))
		return err
	}
	chart := filepath.Join(filepath.Dir(o.out), chartName)
	if err := os.WriteFile(chart, []byte(chartOf(found.Tables)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(page(found, o.profiles())), 0o644)
}

// keep saves what was found so far: a run that is ended leaves what it has measured.
func (o options) keep(found results, file string) error {
	if o.out == "-" {
		return nil
	}
	return found.save(file)
}

// spare is how many samples of a measurement may be taken again.
func (o options) spare() func(samples int) int {
	return func(samples int) int {
		if o.quick {
			return 0
		}
		return samples
	}
}

// profiles is written by hand and stays as it is.
func (o options) profiles() string {
	b, _ := os.ReadFile("interop/bench/profiles.md")
	return string(b)
}

// section is a table of the page: what is measured, and what a reader has to know.
type section struct {
	key, title, about string
	prepare           func(*world) ([]measurement, error)
}

const countsLines = "Counting the matching lines beneath a directory by `search_content_in_files`, beside ripgrep counting the same (`--count --hidden`, and the flags that make its ignore rules ours). "

// sections are all that is measured, in the order of the page.
var sections = []section{
	{"search-small", "Search: small tree", countsLines + "Go's source tree, every file, no index.",
		searching((*world).smallTree, codePatterns, false)},
	{"search-small", "Search: small tree, with ignore rules", "The same with `.gitignore` respected.",
		searching((*world).smallTree, codePatterns, true)},
	{"search-big", "Search: big tree", "130,000 files: copies of Go's source tree and of the module cache. Every file, no index. Where the numbers found differ, the lines are in the test data of golang.org/x/text and of fuzzers: texts in Big5, UTF-16 without a mark and other encodings, which file-read decodes and ripgrep searches as bytes.",
		searching((*world).bigTree, codePatterns, false)},
	{"search-big-ignore", "Search: big tree, with ignore rules", "The same with `.gitignore` respected.",
		searching((*world).bigTree, codePatterns, true)},
	{"search-log", "Search: one file of 1 GB", "A log. ripgrep maps it into memory or, with `--no-mmap`, reads it; the better counts. What the map costs depends on how the kernel holds the file in its page cache: in large folios it takes few page faults, else one for every few pages. The same ripgrep took 80 ms and 460 ms for the first of these on two days.",
		searching((*world).logFile, logPatterns, false, []string{"--no-mmap"})},
	{"repeat-small", "Search again: small tree", "A server that searched the tree once, for other words, and has rested since.",
		repeating((*world).smallTree, false)},
	{"repeat-big", "Search again: big tree, with ignore rules", "The same in the big tree.",
		repeating((*world).bigTree, true)},
	{"first", "The first 50 lines", "`max_results` 50, in the order of paths, without an index.",
		firstFew},
	{"find", "Find by name", "`find_files_by_pattern` in the big tree beside fd, all names that match; an answer holds 10,000, so that many are asked for page by page.",
		finding},
	{"lines", "Lines 900,000 to 900,100 of a file of 1 GB", "By `file_read`, beside reading the same bytes from the page cache and doing nothing with them.",
		readingFar},
	{"read", "Reading files", "`file_read` beside the same on mcp-go's own stdio loop (interop/bench/loop: no confinement, no audit log) and the reference server.",
		reading},
	{"message", "A message of 50 MB", "`file_write` of 50 MB in one line. `file-write` syncs the file and its directory; the loop calls os.WriteFile.",
		messages},
	{"start", "Start", "From the start of the process to its answer of `initialize`.",
		starting},
	{"memory", "Memory", "Each measured once.",
		remembering},
	{"write", "Changing files", "`file-write` keeps what was there, writes its audit log and syncs before it tells success; `--history off` keeps nothing.",
		writing},
	{"run", "Running commands", "`shell-exec` judges the command, holds it by the kernel, keeps its output and writes its audit log. By hand it is `bash -c`, its output read.",
		running},
}

func (s section) wanted(only string) bool {
	return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(key string) bool { return strings.HasPrefix(s.key, key) })
}

// measure makes the table. What goes wrong is in it.
func (s section) measure(w *world, spare func(int) int) table {
	fmt.Fprintln(os.Stderr, "bench:", s.title)
	began := time.Now()
	t := table{Key: s.key, Title: s.title, About: s.about, Version: w.version()}
	defer w.close()
	var all []measurement
	err := w.open()
	if err == nil {
		all, err = s.prepare(w)
	}
	if err != nil {
		t.Failed = err.Error()
		fmt.Fprintln(os.Stderr, "bench: FAILED:", err)
		return t
	}
	for _, m := range all {
		n := w.samples
		if m.samples > 0 {
			n = m.samples
		}
		r := m.alternate(n, spare(n), w.watch())
		fmt.Fprintln(os.Stderr, "bench:  ", r.line())
		t.Results = append(t.Results, r)
	}
	t.Missing = slices.Clone(w.missing)
	fmt.Fprintf(os.Stderr, "bench:   took %.0f s\n", time.Since(began).Seconds())
	return t
}
