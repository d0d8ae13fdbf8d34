package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// The fixture of most tests: a project in a home directory, with nothing in it.
const (
	home    = "/home/dev"
	project = "/home/dev/project"
)

func script(text string) policy.Request {
	return policy.Request{
		Text: text, Shell: policy.Shell{Path: "/bin/bash", Grammar: cmdline.Bash}, Dir: project, Home: home, Workspace: []string{project},
		Env: map[string]string{"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "dev", "LANG": "C.UTF-8", "TERM": "xterm"},
	}
}

func argv(words ...string) policy.Request {
	r := script("")
	r.Argv = words
	return r
}

func preset(t testing.TB, name string) *policy.Policy {
	t.Helper()
	p, err := policy.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// line is a row of a corpus.
type line struct {
	expected, class, text string
}

var unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\e`, "\x1b", `\0`, "\x00")

func corpus(t testing.TB, name string, columns ...int) []line {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all []line
	for i, row := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		f := strings.Split(row, "\t")
		if i == 0 || strings.HasPrefix(row, "#") || len(f) < 2 {
			continue
		}
		l := line{class: f[columns[1]], text: unescape.Replace(f[columns[2]])}
		if columns[0] >= 0 {
			l.expected = f[columns[0]]
		}
		all = append(all, l)
	}
	return all
}
