package kernels

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// known is what fails, and why.
const known = "testdata/known.txt"

// check is one line of doctor.
type check struct {
	Verdict, Subject, Text, Fix string
}

// holds says that doctor calls the line enforced: one that begins with no is told, and not
// a fault of the machine.
func (c check) holds() bool { return c.Verdict == "ok" && !strings.HasPrefix(c.Text, "no: ") }

// finding is something that is not as it should be. Its name says where, for whom and what.
type finding struct{ name, text string }

// judge looks at everything that was run on a kernel.
func judge(t *testing.T, kernel string, p plan, all []done) {
	t.Helper()
	var findings []finding
	ran := map[string]done{}
	for _, d := range all {
		if d.User == "" {
			t.Logf("%s: %s", d.Job, d.Out)
			continue
		}
		ran[d.User+" "+d.Job] = d
	}
	for _, a := range p.Accounts {
		for _, j := range p.jobs(a) {
			d, ok := ran[a.Name+" "+j.Name]
			if !ok {
				t.Errorf("%s: %s was not run", a.Name, j.Name)
				continue
			}
			for _, f := range inspect(t, d, ran, kernel == thisKernel) {
				findings = append(findings, finding{strings.ReplaceAll(fmt.Sprintf("%s/%s/%s", kernel, d.User, f.name), " ", "-"), f.text})
			}
		}
	}
	expected := expectedOn(t, kernel)
	for _, f := range findings {
		isKnown := false
		for pattern := range expected {
			if ok, _ := path.Match(pattern, f.name); ok {
				isKnown, expected[pattern] = true, true
			}
		}
		if isKnown {
			t.Logf("known: %s", f.name)
		} else {
			t.Errorf("%s: %s", f.name, f.text)
		}
	}
	for pattern, seen := range expected {
		if of, _, _ := strings.Cut(pattern, "/"); !seen && p.Only == "." && !strings.Contains(of, "*") {
			t.Errorf("%s does not fail: take it out of %s", pattern, known)
		}
	}
}

func inspect(t *testing.T, d done, ran map[string]done, here bool) []finding {
	t.Helper()
	kind, name, _ := strings.Cut(d.Job, " ")
	switch kind {
	case "story":
		if d.Exit != 0 {
			return []finding{{d.Job, fmt.Sprintf("exit code %d\n%s", d.Exit, d.Out)}}
		}
		return nil
	case "attacks":
		return broken(t, d, ran[d.User+" "+doctor{"shell-exec", name}.String()+" auto"], here)
	case "test":
		return failed(t, d)
	}
	return unlike(d)
}

// unlike are the ways in which doctor does not do what it documents: it fails exactly
// where something is bad, and only what was required and is not enforced is.
func unlike(d done) []finding {
	checks, err := checksOf(d)
	if err != nil {
		return []finding{{d.Job, fmt.Sprintf("%v: exit code %d\n%s", err, d.Exit, d.Out)}}
	}
	bad := 0
	for _, c := range checks {
		if c.Verdict == "bad" {
			bad++
		}
	}
	required := strings.HasSuffix(d.Job, " required")
	switch {
	case bad > 0 && !required, (bad > 0) != (d.Exit == 1), d.Exit > 1:
		return []finding{{d.Job, fmt.Sprintf("exit code %d with %d bad lines\n%s", d.Exit, bad, d.Out)}}
	}
	return nil
}

func checksOf(d done) (all []check, err error) {
	err = json.Unmarshal([]byte(d.Out), &all)
	return all, err
}

// broken are the attacks that worked though doctor says that they are prevented.
func broken(t *testing.T, d, report done, here bool) []finding {
	t.Helper()
	var outcomes []outcome
	if err := json.Unmarshal([]byte(d.Out), &outcomes); err != nil || d.Exit != 0 {
		return []finding{{d.Job, fmt.Sprintf("exit code %d\n%s", d.Exit, d.Out)}}
	}
	checks, err := checksOf(report)
	if err != nil {
		return []finding{{d.Job, "doctor gave no report"}}
	}
	held := map[string]bool{}
	for _, c := range checks {
		if part, ok := strings.CutPrefix(c.Subject, "sandbox: "); ok {
			held[part] = c.holds()
		}
	}
	parts := map[string]string{}
	for _, a := range everyAttack() {
		parts[a.name] = a.part
	}
	var all []finding
	for _, o := range outcomes {
		part := parts[o.Name]
		promised, reported := held[part]
		name := d.Job + "/" + o.Name
		switch {
		case !reported:
			all = append(all, finding{name, fmt.Sprintf("doctor says nothing about %q", part)})
		case o.Free != "" && here:
			t.Logf("%s %s: %s cannot be tried on this machine: %s", d.User, d.Job, o.Name, o.Free)
		case o.Free != "":
			all = append(all, finding{name, "does not work outside of the sandbox either, and so says nothing: " + o.Free})
		case o.Held == "" && promised:
			all = append(all, finding{name, fmt.Sprintf("worked, though doctor says that %q is enforced", part)})
		case o.Held == "":
			t.Logf("%s %s: %s works; doctor says that %q is not enforced", d.User, d.Job, o.Name, part)
		}
	}
	return all
}

var verdicts = regexp.MustCompile(`(?m)^ *--- (FAIL|SKIP|PASS): (\S+)`)

// failed are the tests that failed in one of our test binaries. What was skipped is told.
func failed(t *testing.T, d done) []finding {
	t.Helper()
	var all []finding
	passed := 0
	for _, m := range verdicts.FindAllStringSubmatch(d.Out, -1) {
		switch m[1] {
		case "PASS":
			passed++
		case "SKIP":
			t.Logf("%s %s: skipped: %s", d.User, d.Job, m[2])
		case "FAIL":
			if !strings.Contains(m[2], "/") {
				all = append(all, finding{d.Job + "/" + m[2], d.Out})
			}
		}
	}
	if all == nil && d.Exit != 0 || passed == 0 {
		all = append(all, finding{d.Job, fmt.Sprintf("exit code %d, %d tests passed\n%s", d.Exit, passed, d.Out)})
	}
	for i := range all[min(1, len(all)):] {
		all[i+1].text = "see above"
	}
	return all
}

// expectedOn reads what is known to fail on a kernel: patterns of names.
func expectedOn(t *testing.T, kernel string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(known)
	must(t, err)
	names, reason := map[string]bool{}, ""
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || line[0] == '#':
			reason = ""
		case line[0] != '\t':
			reason += line
		case reason == "":
			t.Fatalf("%s: %q has no reason above it", known, name)
		}
		if ok, _ := path.Match(strings.Split(name, "/")[0], strings.ReplaceAll(kernel, " ", "-")); ok && line[0] == '\t' {
			names[name] = false
		}
	}
	return names
}
