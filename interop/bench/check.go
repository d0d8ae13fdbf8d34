package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A check compares what searches find with what ripgrep finds: path, number and text
// of every matching line beneath a directory, in the order of paths.
type check struct {
	root   string
	rg     ripgrep
	client *client
	full   map[string]int // files with more lines than one answer may hold, and how many it held
}

// newCheck starts a server over a directory that answers in words only.
func newCheck(program, root string, rg ripgrep) (*check, error) {
	c, err := dial("", []string{program, "--allow-path", root, "--audit-log", "off", "--results", "text", "--max-read-bytes", "1GiB"})
	return &check{root, rg, c, map[string]int{}}, err
}

// found is a line that matches.
type found struct{ path, line, text string }

func (f found) String() string { return f.path + ":" + f.line + ":" + f.text }

const mostLines = 10_000 // of an answer

// differences are the lines that only one of both tells, ours after a +, or that
// stand elsewhere; and the number of lines compared.
func (c *check) differences(p pattern) (lines int, differ []string, err error) {
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
func (c *check) ours(place string, p pattern) ([]found, error) {
	answer, _, err := c.client.call(toolCall("search_content_in_files", map[string]any{
		"search_path": place, "regex_pattern": p.expr, "recursive": true, "use_gitignore": false, "max_results": mostLines,
	}))
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

func (c *check) theirs(p pattern) ([]found, error) {
	cmd := c.rg.command(c.root, false, "--sort=path", "--line-number", "--no-heading", "--color=never", "--null", "--regexp="+p.forRipgrep())
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

// checkAll compares all patterns over the small tree with every ripgrep. The tests
// do the same over some packages.
func checkAll(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.remove()
	root, err := w.smallTree()
	if err != nil {
		return err
	}
	all := 0
	for _, rg := range w.ripgreps() {
		_, n, err := compare(w.read, root, rg, func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
		if err != nil {
			return err
		}
		all += n
	}
	if all > 0 {
		return fmt.Errorf("%d differences", all)
	}
	return nil
}

// compare tells what it found of every pattern and gives the numbers of lines and of
// differences.
func compare(program, root string, rg ripgrep, tell func(format string, args ...any)) (lines, differences int, err error) {
	c, err := newCheck(program, root, rg)
	if err != nil {
		return 0, 0, err
	}
	defer c.client.stop()
	for _, p := range codePatterns {
		n, differ, err := c.differences(p)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", p.expr, err)
		}
		tell("%s, %s: %d lines, %d differences", rg.name, p.expr, n, len(differ))
		for _, d := range differ[:min(5, len(differ))] {
			tell("\t%.200s", d)
		}
		lines, differences = lines+n, differences+len(differ)
	}
	return lines, differences, nil
}
