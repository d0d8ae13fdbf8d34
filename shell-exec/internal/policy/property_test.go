package policy_test

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// What is refused stays refused after whatever is allowed.
func FuzzARefusedCommandIsRefusedAfterAnything(f *testing.F) {
	for i, l := range corpus(f, "development.tsv", 0, 1, 2) {
		if i%3 == 0 { // each of them is judged six times
			f.Add(l.text)
		}
	}
	for _, l := range corpus(f, "bypass.tsv", -1, 0, 1) {
		f.Add(l.text)
	}
	p := preset(f, "development")
	f.Fuzz(func(t *testing.T, text string) {
		// A last backslash joins the lines, and a script may call its own functions so.
		if strings.HasSuffix(text, `\`) || strings.Contains(text, "/bin/rm") || p.Judge(script(text)).Verdict() != policy.Allow {
			return
		}
		separators := []string{"\n", "\n\n"}
		if !strings.Contains(text, "#") {
			separators = append(separators, ";", " & ", " && ", " || ")
		}
		for _, between := range separators {
			joined := text + between + "/bin/rm -rf /"
			if d := p.Judge(script(joined)); d.Verdict() == policy.Allow {
				t.Fatalf("%q is allowed\n%s", joined, d.Explain())
			}
		}
	})
}

func TestALongScriptIsRead(t *testing.T) {
	p := preset(t, "development")
	text := longScript(t)
	if d := p.Judge(script(text)); d.Verdict() != policy.Allow || len(d.Commands()) < 2000 {
		t.Errorf("%s with %d commands", d.Verdict(), len(d.Commands()))
	}
	if d := p.Judge(script(text + "\nrm -rf /")); d.Verdict() != policy.Deny {
		t.Errorf("with a refused command at its end: %s", d.Verdict())
	}
}
