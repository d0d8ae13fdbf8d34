package policy_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// mark stands before each text that bash reads in one go.
func mark(i int) string { return fmt.Sprintf(": mark%d", i) }

// printed is each text as bash itself understands it, with --pretty-print, which runs
// nothing. A text that bash does not read to its end is not there.
func printed(t *testing.T, texts []string) map[int]string {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	if out, err := prettyPrint(t, bash, "true\n"); err != nil || strings.TrimSpace(out) != "true" {
		t.Skip("this bash does not print what it reads")
	}
	all := map[int]string{}
	for from := 0; from < len(texts); {
		var script strings.Builder
		for i := from; i < len(texts); i++ {
			script.WriteString(mark(i) + "\n" + texts[i] + "\n")
		}
		script.WriteString(mark(len(texts)) + "\n")
		out, _ := prettyPrint(t, bash, script.String()) // it ends where a text is wrong
		from = divide(out, from, len(texts), all) + 1
	}
	return all
}

func prettyPrint(t *testing.T, bash, script string) (string, error) {
	c := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "--pretty-print", "/dev/stdin")
	c.Stdin, c.Env = strings.NewReader(script), []string{"LC_ALL=C.UTF-8"}
	out, err := c.Output()
	return string(out), err
}

// divide takes what was printed apart, and says which text was the last one begun.
func divide(out string, from, to int, all map[int]string) int {
	for i := from; i < to; i++ {
		rest, ok := after(out, mark(i))
		if !ok {
			return i
		}
		text, _, ok := strings.Cut("\n"+rest, "\n"+mark(i+1)+"\n")
		if !ok {
			return i // it swallowed the next mark, or is wrong
		}
		all[i] = text
		out = rest
	}
	return to
}

func after(out, line string) (string, bool) {
	_, rest, ok := strings.Cut("\n"+out, "\n"+line+"\n")
	return rest, ok
}

// Bash is a second reader: where it finds other commands in a text than are found here,
// the text is not allowed.
func TestAnAllowedTextIsReadAsBashReadsIt(t *testing.T) {
	t.Parallel()
	p := preset(t, "development")
	var texts []string
	for _, name := range []string{"development.tsv", "hostile.tsv", "policy.tsv"} {
		for _, l := range corpus(t, name, 0, 1, 2) {
			texts = append(texts, l.text)
		}
	}
	for _, l := range corpus(t, "bypass.tsv", -1, 0, 1) {
		texts = append(texts, l.text)
	}
	random := rand.New(rand.NewPCG(*oracleSeed, 1))
	for range *oracleScripts / 3 {
		texts = append(texts, randomScript(random))
	}
	texts = slices.DeleteFunc(texts, func(text string) bool {
		return strings.ContainsAny(text, "\x00\r") || p.Judge(script(text)).Verdict() != policy.Allow
	})
	read := printed(t, texts)
	if len(read)*100 < len(texts)*95 {
		t.Errorf("bash read only %d of %d", len(read), len(texts))
	}
	t.Logf("bash read %d of %d", len(read), len(texts))
	for i, again := range read {
		ours, theirs := commandsOf(p, texts[i]), commandsOf(p, again)
		if !slices.Equal(ours, theirs) {
			t.Errorf("%q is read as\n\t%q, by bash as\n\t%q, from\n%s", texts[i], ours, theirs, again)
		}
	}
}

func commandsOf(p *policy.Policy, text string) []string {
	var all []string
	for _, c := range p.Judge(script(text)).Commands() {
		all = append(all, strings.Join(c.Argv, " "))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
