package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/command"
)

func TestMisuseEndsWith2AndSaysWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		what string
		args []string
		says string
	}{
		{"an unknown command", []string{"srve"}, "Did you mean serve?"},
		{"a command like none", []string{"frobnicate"}, "Use one of audit, call"},
		{"an unknown command below another", []string{"audit", "verfy"}, "Did you mean verify?"},
		{"a shell that is none", []string{"completion", "bsh"}, "Did you mean bash?"},
		{"an unknown flag", []string{"--alow-path", "/x"}, "Did you mean --allow-path?"},
		{"an unknown flag of a command", []string{"tools", "--jsn"}, "Did you mean --json?"},
		{"an unknown flag with a value", []string{"--vocabulry=agent"}, "Did you mean --vocabulary?"},
		{"a flag like none", []string{"--frobnicate"}, "--help"},
		{"an unknown short flag", []string{"-z"}, "--help"},
		{"a flag without its value", []string{"--allow-path"}, "allow-path"},
		{"an argument where there is none", []string{"version", "now"}, "takes no argument"},
		{"no tool to call", []string{"call"}, "call TOOL"},
		{"an unknown host", []string{"config", "cursr"}, "Did you mean cursor?"},
		{"two hosts", []string{"config", "cursor", "zed"}, "config [HOST]"},
		{"an unknown host to install in", []string{"install", "cursr"}, "Did you mean cursor?"},
		{"no host to take out of", []string{"uninstall"}, "uninstall HOST"},
		{"a host over HTTP", []string{"install", "cursor", "--transport", "http"}, "stdin and stdout"},
		{"two forms at once", []string{"tools", "--json", "--markdown"}, "markdown"},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := newFixture(t).must(t, 2, c.args...)
			contains(t, "stderr", r.errors, c.says)
			if !strings.HasPrefix(r.errors, "SYSTEM_003: ") {
				t.Errorf("no code in front: %s", r.errors)
			}
			if r.out != "" || strings.Count(r.errors, "\n") != 1 {
				t.Errorf("noise on stdout %q or stderr %q", r.out, r.errors)
			}
		})
	}
}

func TestHelpNamesEveryCommandAndFlag(t *testing.T) {
	r := newFixture(t).must(t, 0, "--help")
	contains(t, "help", r.out, "serve", "tools", "call", "doctor", "config", "install", "uninstall", "audit", "version", "completion",
		"--allow-path DIR", "--results both|text", "--greetings N", "It greets.")
}

func TestCompletionIsThere(t *testing.T) {
	contains(t, "the script", newFixture(t).must(t, 0, "completion", "bash").out, "fake-server")
	contains(t, "completion", newFixture(t).must(t, 0, "__complete", "config", "claude-").out, "claude-code", "claude-desktop")
}

func TestAServerHasCommandsOfItsOwn(t *testing.T) {
	w := newFixture(t)
	w.program.Verbs = []command.Verb{{Use: "policy", Short: "Look at rules", Verbs: []command.Verb{{
		Use: "check COMMAND", Least: 1, Most: 1, Words: []command.Word{{Name: "argv", Doc: "as a list"}},
		Run: func(_ context.Context, act command.Act) (int, error) {
			fmt.Fprintln(act.Stdout, act.Args[0], act.Words["argv"], act.Settings.Count("greetings"))
			return 3, nil
		},
	}}}}
	if got := w.must(t, 3, "policy", "check", "ls", "--argv", "[]", "--greetings", "7").out; got != "ls [] 7\n" {
		t.Errorf("got %q", got)
	}
	w.must(t, 2, "policy", "check")
	contains(t, "help", w.must(t, 0, "policy").out, "check")
	contains(t, "help", w.must(t, 0, "--help").out, "policy")
}
