package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// searched compares a search through tools/call with a run of ripgrep that
// counts the same lines.
type searched struct {
	pattern        string
	ours, ripgrep  float64 // ms, medians
	lines, rgLines string
}

func measureSearch(ours string, runs int) ([]searched, error) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: ripgrep is not installed; no comparison of searches")
		return nil, nil
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	cl, err := start([]string{ours, "--allow-path", src, "--audit-log", "off"})
	if err != nil {
		return nil, err
	}
	defer cl.stop()
	var out []searched
	for _, pattern := range []string{"errgroup", "return", `\bfunc\s+\w+Handler\b`, `[A-Za-z]+_test\.go`} {
		s, err := compareSearch(cl, rg, src, pattern, runs)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func compareSearch(cl *client, rg, src, pattern string, runs int) (searched, error) {
	s := searched{pattern: pattern}
	var a, b []float64
	for range runs {
		t := time.Now()
		answer, err := cl.call("tools/call", map[string]any{"name": "search_content_in_files", "arguments": map[string]any{
			"search_path": src, "regex_pattern": pattern, "recursive": true, "output": "count",
		}})
		if err != nil {
			return s, err
		}
		a = append(a, ms(time.Since(t)))
		s.lines = countIn(string(answer))
		t = time.Now()
		counts, err := exec.Command(rg, "--hidden", "--no-messages", "-c", "-e", pattern, src).Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
			return s, err
		}
		b = append(b, ms(time.Since(t)))
		s.rgLines = sumCounts(string(counts))
	}
	s.ours, s.ripgrep = median(a), median(b)
	return s, nil
}

func countIn(answer string) string {
	_, rest, _ := strings.Cut(answer, `"matchedLines":`)
	n, _, _ := strings.Cut(rest, ",")
	return n
}

func sumCounts(out string) string {
	total := 0
	for line := range strings.Lines(out) {
		n := 0
		fmt.Sscan(line[strings.LastIndexByte(line, ':')+1:], &n)
		total += n
	}
	return fmt.Sprint(total)
}
