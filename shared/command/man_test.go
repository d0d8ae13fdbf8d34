package command_test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestTheManualNamesEveryCommandAndSetting(t *testing.T) {
	page := newWorld(t).must(t, 0, "man").out
	contains(t, "the manual", page, `.TH "FAKE\-SERVER" "1" "" "fake\-server 1.2.3"`, `fake\-server \- A fake server`,
		"It greets.", "or over HTTP", `.B "fake\-server call TOOL [KEY=VALUE …]"`, `.B "fake\-server audit verify"`, `\&\-n, \-\-lines int: how many`,
		`.B "\-\-allow\-path DIR"`, `.B "\-\-greetings N"`, `(default 3). MCP_FAKE_SERVER_GREETINGS`)
	for _, hidden := range []string{"fake\\-server man", "\\-\\-help"} {
		if strings.Contains(page, hidden) {
			t.Errorf("the manual tells of %s", hidden)
		}
	}
}

func TestNoTextOfTheManualIsARequest(t *testing.T) {
	w := newWorld(t)
	w.program.Title, w.program.Doc = "a \"title\"", ".so /etc/passwd\n'sy rm\n.de X \\n[x] ~"
	page := w.must(t, 0, "man").out
	contains(t, "the manual", page, `\- a \(dqtitle\(dq`, `\&.so /etc/passwd 'sy rm .de X \en[x] \(ti`)
	macro := regexp.MustCompile(`^(\.(TH|SH|TP|PP|B|br)( ".*")*|\\&.*)$`)
	for line := range strings.Lines(page) {
		if !macro.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("a line is neither text nor one of our macros: %q", line)
		}
	}
}

func TestAReaderOfManualsHasNothingToComplainOf(t *testing.T) {
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("SKIPPED: man is not here")
	}
	read := exec.Command("man", "--warnings", "--local-file", "-")
	read.Stdin = strings.NewReader(newWorld(t).must(t, 0, "man").out)
	read.Env = append(read.Environ(), "LC_ALL=C.UTF-8", "MANPAGER=cat", "MANWIDTH=80")
	var complaints strings.Builder
	read.Stderr = &complaints
	out, err := read.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	contains(t, "the page", string(out), "COMMANDS", "--allow-path DIR", "fake-server")
}

func TestAProgramIsDescribedForPackages(t *testing.T) {
	var got struct {
		Name, Title, Doc, Version string
		Flags                     []struct{ Name, Default, Variable string }
	}
	must(t, json.Unmarshal([]byte(newWorld(t).must(t, 0, "man", "--json").out), &got))
	last := got.Flags[len(got.Flags)-1]
	if got.Name != "fake-server" || got.Version != "1.2.3" || got.Doc != "It greets." || last.Name != "greetings" || last.Default != "3" || last.Variable != "MCP_FAKE_SERVER_GREETINGS" {
		t.Errorf("got %+v", got)
	}
}
