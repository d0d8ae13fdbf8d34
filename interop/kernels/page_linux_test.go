package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// part is the part of a server that a line of doctor is about, where it is one that the
// kernel enforces.
func (d doctor) part(c check) (name string, ok bool) {
	if d.level != "" {
		return strings.CutPrefix(c.Subject, "sandbox: ")
	}
	return c.Subject, slices.Contains([]string{"read", "write", "run", "network", "attributes", "kernel"}, c.Subject)
}

// enforced is what is written about a part that doctor calls enforced.
const enforced = "enforced"

func (r row) file() string { return "testdata/doctor/" + strings.ReplaceAll(r.name, " ", "-") + ".txt" }

// said is what doctor said about each part of each server, a line each, and whether every
// server was asked for each account.
func said(p plan, all []done) (lines string, complete bool) {
	var b strings.Builder
	asked := 0
	for _, d := range doctors() {
		for _, result := range all {
			if result.Job != d.String()+" auto" {
				continue
			}
			checks, err := checksOf(result)
			if err != nil {
				return "", false
			}
			asked++
			for _, c := range checks {
				part, ok := d.part(c)
				if !ok {
					continue
				}
				state := enforced
				if !c.holds() {
					state = "not " + enforced + ": " + strings.TrimPrefix(c.Text, "no: ") + ". " + c.Fix
				}
				fmt.Fprintf(&b, "%s | %s | %s | %s\n", d, part, result.User, state)
			}
		}
	}
	return b.String(), asked == len(doctors())*len(p.Accounts)
}

// TestThePageHasWhatDoctorSaidOnEveryKernel makes the table of the page out of what the
// kernels last said, and so needs none.
func TestThePageHasWhatDoctorSaidOnEveryKernel(t *testing.T) {
	var parts, notes []string
	cells := map[string]string{} // by part and kernel
	for _, r := range rows {
		text, err := os.ReadFile(r.file())
		must(t, err)
		for line := range strings.Lines(string(text)) {
			f := strings.SplitN(strings.TrimSpace(line), " | ", 4)
			if len(f) != 4 {
				t.Fatalf("%s: %q is not a server, a part, an account and a state", r.file(), line)
			}
			part, user, state := f[0]+" | "+f[1], f[2], f[3]
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
			cell := "yes"
			if why, no := strings.CutPrefix(state, "not "+enforced+": "); no {
				if !slices.Contains(notes, why) {
					notes = append(notes, why)
				}
				cell = fmt.Sprintf("**no** (%d)", 1+slices.Index(notes, why))
			}
			key := part + r.name
			if before, ok := cells[key]; ok && before != cell {
				cell = before + ", as " + user + " " + cell
			}
			cells[key] = cell
		}
	}
	var b strings.Builder
	b.WriteString("| server | part |")
	for _, r := range rows {
		b.WriteString(" " + r.name + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(rows)) + "\n")
	for _, part := range parts {
		b.WriteString("| " + part + " |")
		for _, r := range rows {
			b.WriteString(" " + cells[part+r.name] + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for i, why := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, why)
	}
	mcptest.Sections(t, "../../docs/security-model.md", map[string]string{"kernels": b.String()})
}
