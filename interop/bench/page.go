package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// page is docs/benchmarks.md.
func page(r results, profiles string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\nWritten by `scripts/bench`; run it to have the numbers of your machine. These: %s", r.Machine)
	fmt.Fprintf(&b, "; servers %s, beside %s.\n\n", strings.Join(versions(r.Tables), " and "), strings.Join(r.Beside, ", "))
	b.WriteString("Every number of ours was taken by MCP on stdio, in turns with those beside it, with everything in the page cache; medians, " +
		"on which the goals are judged. A goal of 0.65 of a peer is held when ours takes at most 0.65 of its time. " +
		"Samples during which other processes used the machine were taken again.\n\n")
	fmt.Fprintf(&b, "![each goal, and what was measured of it](%s)\n\n", chartName)
	b.WriteString(summary(r.Tables))
	for _, t := range r.Tables {
		b.WriteString(t.markdown())
	}
	if profiles != "" {
		b.WriteString("\n" + strings.TrimSpace(profiles) + "\n")
	}
	return b.String()
}

func versions(tables []table) []string {
	var all []string
	for _, t := range tables {
		if t.Version != "" && !slices.Contains(all, t.Version) {
			all = append(all, t.Version)
		}
	}
	return all
}

// summary counts the goals that are held and names the others.
func summary(tables []table) string {
	held, all, missed := 0, 0, ""
	for _, t := range tables {
		for _, r := range t.Results {
			for _, v := range r.Verdicts {
				if !v.promised() {
					continue
				}
				all++
				if v.held() {
					held++
				} else {
					missed += fmt.Sprintf("- %s, %s: %s\n", t.Title, r.Name, v)
				}
			}
		}
	}
	s := fmt.Sprintf("**%d of %d goals are held.**", held, all)
	if missed != "" {
		s += " Not held:\n\n" + missed
	}
	return strings.TrimRight(s, "\n") + "\n"
}

func (t table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Title, t.About)
	if t.Failed != "" {
		fmt.Fprintf(&b, "\nIt could not be measured: `%.300s`\n", t.Failed)
		return b.String()
	}
	sides := t.sides()
	answers := slices.ContainsFunc(t.Results, func(r result) bool { return r.answer() != "" })
	b.WriteString("\n| | " + strings.Join(sides, " | "))
	if answers {
		b.WriteString(" | found")
	}
	b.WriteString(" | of the others |\n|---|" + strings.Repeat("---:|", len(sides)))
	if answers {
		b.WriteString("---:|")
	}
	b.WriteString("---|\n")
	for _, r := range t.Results {
		b.WriteString(r.markdown(sides, answers))
	}
	b.WriteString(t.notes())
	return b.String()
}

// sides are the names of the columns, ours first.
func (t table) sides() []string {
	var all []string
	for _, r := range t.Results {
		for _, c := range r.Cells {
			if !slices.Contains(all, c.Side) {
				all = append(all, c.Side)
			}
		}
	}
	return all
}

func (r result) answer() string { return r.Cells[0].Answer }

func (r result) markdown(sides []string, answers bool) string {
	columns := []string{r.Name}
	for _, name := range sides {
		i := slices.IndexFunc(r.Cells, func(c cell) bool { return c.Side == name })
		if i < 0 || r.Cells[i].Samples == 0 {
			columns = append(columns, "–")
		} else {
			columns = append(columns, number(r.Cells[i].Median)+" "+r.Unit)
		}
	}
	if answers {
		columns = append(columns, r.answer())
	}
	var verdicts []string
	for _, v := range r.Verdicts {
		if v.Known || v.promised() {
			verdicts = append(verdicts, v.String())
		}
	}
	return "| " + strings.Join(append(columns, strings.Join(verdicts, "; ")), " | ") + " |\n"
}

// String is such as "0.58 of ripgrep (goal 0.65), held".
func (v verdict) String() string {
	s := "not measured"
	if v.Known {
		s = quantity(v.Measured, v.Unit)
	}
	if v.Word != "" {
		word := " of "
		if v.Unit != "" {
			word = " "
		}
		s += word + v.Word
	}
	if !v.promised() {
		return s
	}
	s += " (goal " + quantity(v.Most, v.Unit) + ")"
	if v.held() {
		return s + ", held"
	}
	if v.Known && quantity(v.Measured, v.Unit) == quantity(v.Most, v.Unit) {
		s += ", missed by less than is shown"
	}
	return s + ", **not held**"
}

func quantity(v float64, unit string) string {
	switch {
	case unit != "":
		return number(v) + " " + unit
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// notes tell where answers differ, what failed, what was missing, and what of the
// samples was disturbed.
func (t table) notes() string {
	var b strings.Builder
	again, disturbed, same, compared := 0, 0, true, false
	for _, r := range t.Results {
		again, disturbed = again+r.Again, disturbed+r.Disturbed
		for _, c := range r.Cells {
			if c.Failed != "" {
				fmt.Fprintf(&b, "- %s could not do it (%s): `%s`\n", c.Side, r.Name, oneLine(c.Failed))
				continue
			}
			compared = compared || c.Answer != "" && c.Side != r.Cells[0].Side
			if c.Answer != r.answer() && c.Answer != "" {
				same = false
				fmt.Fprintf(&b, "- %s found %s (%s), ours %s\n", c.Side, c.Answer, r.Name, r.answer())
			}
		}
	}
	if compared && same {
		b.WriteString("- All found the same number.\n")
	}
	for _, m := range t.Missing {
		fmt.Fprintf(&b, "- Not installed: %s.\n", m)
	}
	if again+disturbed > 0 {
		fmt.Fprintf(&b, "- Other processes used the machine: %d samples of each side were taken again; %d had to be kept.\n", again, disturbed)
	}
	if b.Len() > 0 {
		return "\n" + b.String()
	}
	return ""
}

func oneLine(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "`", "'")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// line is a result for somebody who waits.
func (r result) line() string {
	parts := []string{r.Name}
	for _, c := range r.Cells {
		if c.Failed != "" {
			parts = append(parts, c.Side+" FAILED: "+oneLine(c.Failed))
		} else {
			parts = append(parts, c.Side+" "+number(c.Median)+" "+r.Unit)
		}
		if c.Answer != "" && c.Answer != r.answer() {
			parts = append(parts, "which FOUND "+c.Answer+", ours "+r.answer())
		}
	}
	for _, v := range r.Verdicts {
		parts = append(parts, v.String())
	}
	if r.Again+r.Disturbed > 0 {
		parts = append(parts, fmt.Sprintf("again %d, disturbed %d", r.Again, r.Disturbed))
	}
	return strings.Join(parts, " | ")
}

// number has three significant digits.
func number(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	case math.Abs(v) >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
