// Command bench measures the servers beside programs that do the same work: ripgrep, fd, the reference filesystem
// server, a server on mcp-go's own loop, servers that run commands, and plain system calls. It writes a table and a
// chart.
//
// In each row the programs take turns, so that a machine whose speed drifts slows all of them, and the median of each
// counts. A program that found something else, or failed, is reported instead of timed.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "measure only the groups whose names begin with one of these, such as search,run")
	quick := flag.Bool("quick", false, "take few samples")
	out := flag.String("o", "", "write the page to this file, and the chart beside it (default: the page to stdout)")
	clean := flag.Bool("clean", false, "remove the corpora and measure nothing")
	flag.Parse()
	cache, err := os.UserCacheDir()
	if cache = filepath.Join(cache, "mcp-server-bench"); err == nil && *clean {
		err = os.RemoveAll(cache)
	} else if err == nil {
		err = bench(cache, *only, *quick, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is work that several programs do. The first of them is ours.
type row struct {
	name  string
	unit  string // ms or MB
	times int    // samples of each program
	sides []side
}

// side takes one sample at a time. Two sides whose answers differ did different work.
type side struct {
	name string
	take func(n int) (value float64, answer string, err error)
}

// measured is a row with what came of it.
type measured struct {
	row
	medians []float64 // by side; 0: it failed
	notes   []string
}

func bench(cache, only string, quick bool, out string) error {
	w, err := newWorkplace(cache)
	if err != nil {
		return err
	}
	defer func() {
		w.stopServers()
		os.RemoveAll(w.temp)
	}()
	var all []measured
	for _, g := range groups {
		if !slices.ContainsFunc(strings.Split(only, ","), func(begin string) bool { return strings.HasPrefix(g.name, begin) }) {
			continue
		}
		rows, err := g.rows(w)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		for _, r := range rows {
			if quick {
				r.times = min(r.times, 5)
			}
			m := measure(r)
			fmt.Fprintln(os.Stderr, "bench:", m.line(), strings.Join(m.notes, "; "))
			all = append(all, m)
		}
		w.stopServers()
	}
	if out == "" {
		_, err := fmt.Print(page(w, all))
		return err
	}
	chart := strings.TrimSuffix(out, filepath.Ext(out)) + ".svg"
	if err := os.WriteFile(chart, []byte(chartOf(all)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(page(w, all)), 0o644)
}

// measure lets the sides take turns. The first round warms caches up and is not counted.
func measure(r row) measured {
	m := measured{row: r, medians: make([]float64, len(r.sides))}
	values, answers, failed := make([][]float64, len(r.sides)), make([]string, len(r.sides)), make([]bool, len(r.sides))
	for n := range r.times + 1 {
		for i, s := range r.sides {
			if failed[i] {
				continue
			}
			value, answer, err := s.take(n)
			if err != nil {
				failed[i] = true
				m.notes = append(m.notes, fmt.Sprintf("%s failed: %.150s", s.name, strings.Join(strings.Fields(err.Error()), " ")))
				continue
			}
			if answers[i] = answer; n > 0 || r.times == 1 {
				values[i] = append(values[i], value)
			}
		}
	}
	for i := range r.sides {
		if failed[i] {
			continue
		}
		m.medians[i] = median(values[i])
		if answers[i] != "" && answers[i] != answers[0] {
			m.notes = append(m.notes, fmt.Sprintf("%s found %s, ours %s", r.sides[i].name, answers[i], answers[0]))
		}
	}
	return m
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// best is the fastest or smallest of the others, as an index; 0 if there are none.
func (m measured) best() (best int) {
	for i := 1; i < len(m.medians); i++ {
		if m.medians[i] > 0 && (best == 0 || m.medians[i] < m.medians[best]) {
			best = i
		}
	}
	return best
}

// ratio is our share of what the best of the others takes.
func (m measured) ratio() (ratio float64, known bool) {
	if m.best() == 0 || m.medians[0] == 0 {
		return 0, false
	}
	return m.medians[0] / m.medians[m.best()], true
}

func (m measured) quantity(i int) string {
	switch v := m.medians[i]; {
	case v == 0:
		return "failed"
	case v >= 100:
		return fmt.Sprintf("%.0f %s", v, m.unit)
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, m.unit)
	default:
		return fmt.Sprintf("%.2f %s", v, m.unit)
	}
}

// line is a line of the table.
func (m measured) line() string {
	var others []string
	for i := 1; i < len(m.sides); i++ {
		others = append(others, m.sides[i].name+" "+m.quantity(i))
	}
	share := "–"
	if ratio, known := m.ratio(); known {
		share = fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("| %s | %s %s | %s | %s |", m.name, m.sides[0].name, m.quantity(0), strings.Join(others, "<br>"), share)
}

func page(w *workplace, all []measured) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n")
	fmt.Fprintf(&b, "How long common work takes with these servers, and with other programs that do the same. Run `scripts/bench` to\n"+
		"measure your machine. This is %s, on %s.\n\n", printed("dist/file-read", "--version"), machine())
	b.WriteString("Our servers ran as they are installed, with the audit log and the kernel's restrictions on, and were called by MCP on\n" +
		"stdio. The last column is our share of what the best other program took: 0.50 is half of its time or memory. All\n" +
		"files were in the page cache. The programs of a row took turns, and the table shows medians.\n\n")
	b.WriteString("![Our share of what the best other program took](benchmarks.svg)\n\n")
	b.WriteString("| Work | Ours | Others | Ours / best other |\n|---|---:|---:|---:|\n")
	notes := slices.Clone(w.missing)
	for _, m := range all {
		b.WriteString(m.line() + "\n")
		for _, note := range m.notes {
			notes = append(notes, m.name+": "+note)
		}
	}
	b.WriteString("\n" + about)
	for i, note := range notes {
		if i == 0 {
			b.WriteString("\nNotes:\n\n")
		}
		b.WriteString("- " + strings.ReplaceAll(note, "|", `\|`) + "\n")
	}
	return b.String()
}

// about says what a reader has to know of the rows.
const about = "The small tree is Go's source tree. The big tree has 130,000 files: copies of Go's source tree and of the module\n" +
	"cache. The log is one file of 1 GB. Searches count matching lines; ripgrep searches hidden files too and has the\n" +
	"same ignore rules. file-write returns when the new file and its directory are on the disk; the row *temp, fsync,\n" +
	"rename* does that without a server, and the others do not sync. The loop is a server of two tools on mcp-go's own stdio\n" +
	"transport, which checks and records nothing.\n"

// chartOf is a bar for each row, on a logarithmic scale from 1/50 to 2 with a line at 1.
func chartOf(all []measured) string {
	const left, row, unit = 400, 22, 90 // pixels; unit: for a factor of e
	x := func(ratio float64) int { return int(unit * (math.Log(max(min(ratio, 2), 0.02)) - math.Log(0.02))) }
	var b strings.Builder
	y := 30
	for _, m := range all {
		ratio, known := m.ratio()
		if !known {
			continue
		}
		class := "less"
		if ratio > 1 {
			class = "more"
		}
		fmt.Fprintf(&b, `<text class="name" x="%d" y="%d">%s</text>`, left-8, y+11, escapeXML(m.name))
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%d" height="13" rx="2"/>`, class, left, y, x(ratio))
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%.2f of %s</text>\n",
			left+x(ratio)+6, y+11, ratio, escapeXML(m.sides[m.best()].name))
		y += row
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="1050" height="%[1]d" viewBox="0 0 1050 %[1]d" role="img" `+
		`aria-label="Our share of what the best other program took">
<style>
text { font: 12px system-ui, sans-serif; fill: #24292f } .name { text-anchor: end }
.less { fill: #2da44e } .more { fill: #bf8700 } line { stroke: #57606a; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }
</style>
<text x="%[2]d" y="14" text-anchor="middle">as much as the best other program</text><line x1="%[2]d" y1="20" x2="%[2]d" y2="%[1]d"/>
%[3]s</svg>
`, y+6, left+x(1), b.String())
}

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "").Replace

// machine describes where the numbers come from.
func machine() string {
	cpu := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return fmt.Sprintf("%d cores of %s with %s, %s and node %s",
		runtime.NumCPU(), cpu, printed("uname", "-sr"), runtime.Version(), printed("node", "--version"))
}

// printed is what a command prints, on one line.
func printed(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	return cmp.Or(strings.Join(strings.Fields(string(out)), " "), fmt.Sprint(err))
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
