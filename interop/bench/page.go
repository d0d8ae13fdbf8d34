package main

import (
	"fmt"
	"math"
	"strings"
)

// page is docs/benchmarks.md.
func page(cs []contender, rows []row, limits []limit, searches []searched) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\nWritten by `scripts/bench`; run it to have the numbers of your machine. Samples of the servers alternate within one run; medians. These: " + machine() + ".\n\n")
	b.WriteString("## Beside the reference server\n\n| |")
	for _, c := range cs {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString(" ratio |\n|---|" + strings.Repeat("---:|", len(cs)+1) + "\n")
	for _, r := range rows {
		b.WriteString("| " + r.name + " |")
		for _, v := range r.values {
			fmt.Fprintf(&b, " %s %s |", number(v), r.unit)
		}
		ratio := ""
		if len(r.values) == 2 && r.values[1] > 0 {
			ratio = fmt.Sprintf("%.2f", r.values[0]/r.values[1])
		}
		b.WriteString(" " + ratio + " |\n")
	}
	b.WriteString("\n`server-filesystem` is @modelcontextprotocol/server-filesystem 2026.8.31 from npm. `file-read` writes its audit log and is restricted by the kernel while it is measured.\n")
	b.WriteString("\n## Peak memory of file-read over large work\n\n| | peak resident |\n|---|---:|\n")
	for _, l := range limits {
		fmt.Fprintf(&b, "| %s | %s MB |\n", l.name, number(l.peak))
	}
	if searches != nil {
		b.WriteString(searchTable(searches))
	}
	return b.String()
}

// writingTable tells times of the writers.
func writingTable(doers []writer, rows []row) string {
	names := make([]string, len(doers))
	for i, w := range doers {
		names[i] = w.name
	}
	return "\n## Writing\n\nBehind each time, what it is of the first column: the same change by hand, on the disk when it is told. `file-write` keeps what was there, writes its audit log and syncs before it tells success; `--history off` keeps nothing.\n\n" + ratios(names, rows)
}

// runningTable tells what the runners took, and what ours was to hold.
func runningTable(found running) string {
	if found.rows == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n## Running commands\n\nBehind each time, what it is of the first column. `shell-exec` judges the command, holds it by the kernel, keeps its output and writes its audit log.\n\n")
	b.WriteString(ratios(found.names, found.rows))
	b.WriteString("\nFrom npm: mcp-server-commands 0.5.0 and @mako10k/mcp-shell-server 2.7.1, the latter told not to ask a model about each command; past its limit of output it answers while the command still runs, and its peak is that up to the answer. Desktop Commander is left out: at its start it looks for the network and installs a browser.\n")
	for _, note := range found.notes {
		b.WriteString("\n- " + strings.ReplaceAll(note, "\n", " "))
	}
	if found.notes != nil {
		b.WriteString("\n")
	}
	return b.String() + goalTable(found.rows)
}

// goalTable judges the sandboxed shell-exec of rows in the order of measureRunning.
func goalTable(rows []row) string {
	const ours, firstPeer = 1, 3
	echo, peer := rows[0].values, math.NaN()
	for _, v := range echo[min(firstPeer, len(echo)):] {
		if math.IsNaN(peer) || v < peer {
			peer = v
		}
	}
	var b strings.Builder
	b.WriteString("\n| goal of shell-exec, sandboxed | most | measured | held |\n|---|---:|---:|---|\n")
	for _, g := range []struct {
		name           string
		most, measured float64
		unit           string
	}{
		{"`echo hi`, of a bare fork and exec of the shell", 1.5, echo[ours] / echo[0], ""},
		{"`echo hi`, of the fastest peer", 1.0 / 3, echo[ours] / peer, ""},
		{rows[3].name, 30, rows[3].values[ours], " ms"},
		{rows[4].name, 25, rows[4].values[ours], " MB"},
		{rows[5].name, 32, rows[5].values[ours], " MB"},
	} {
		held := "no"
		switch {
		case math.IsNaN(g.measured):
			held = "not measured"
		case g.measured <= g.most:
			held = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s%s | %s%s | %s |\n", g.name, number(g.most), g.unit, number(g.measured), g.unit, held)
	}
	return b.String()
}

// ratios is a table of times, each with what it is of the first in its row.
func ratios(names []string, rows []row) string {
	var b strings.Builder
	b.WriteString("| | " + strings.Join(names, " | ") + " |\n|---|" + strings.Repeat("---:|", len(names)) + "\n")
	for _, r := range rows {
		b.WriteString("| " + r.name + " |")
		for _, v := range r.values {
			switch {
			case math.IsNaN(v):
				b.WriteString(" – |")
			case math.IsNaN(r.values[0]):
				fmt.Fprintf(&b, " %s %s |", number(v), r.unit)
			default:
				fmt.Fprintf(&b, " %s %s (%.2f) |", number(v), r.unit, v/r.values[0])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func searchTable(searches []searched) string {
	var b strings.Builder
	b.WriteString("\n## Search of the Go source tree, lines counted\n\nThrough `tools/call`, beside a run of ripgrep (from PATH) that counts the same lines; both respect .gitignore and look at hidden files.\n\n| pattern | file-read | ripgrep | ratio | lines |\n|---|---:|---:|---:|---:|\n")
	for _, s := range searches {
		lines := s.lines
		if s.lines != s.rgLines {
			lines += " / " + s.rgLines
		}
		fmt.Fprintf(&b, "| `%s` | %s ms | %s ms | %.2f | %s |\n", s.pattern, number(s.ours), number(s.ripgrep), s.ours/s.ripgrep, lines)
	}
	return b.String()
}

// number has three significant digits.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
