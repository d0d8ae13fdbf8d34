package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// verbs are the commands that only this server has.
func verbs() []command.Verb {
	words := []command.Word{{Name: "argv", Doc: `a program and its arguments as a JSON list, instead of a command line`}}
	return []command.Verb{
		{
			Use: "policy", Short: "Ask the policy about a command",
			Verbs: []command.Verb{
				{
					Use: "check [COMMAND]", Short: "Say allow, ask or deny: exit code 0, 3 or 4", Most: 1, Words: words,
					Run: func(_ context.Context, a command.Act) (int, error) { return judge(a, false) },
				},
				{
					Use: "explain [COMMAND]", Short: "Say why: rule, effect, place, and what to do instead", Most: 1, Words: words,
					Run: func(_ context.Context, a command.Act) (int, error) { return judge(a, true) },
				},
			},
		},
		{
			Use: "supervise", Short: "Watch over one detached command", Hidden: true,
			Words: []command.Word{{Name: "project", Doc: "the project of the server"}, {Name: "job", Doc: "the ID of the command"}},
			Run:   func(_ context.Context, a command.Act) (int, error) { return 0, superviseJob(a) },
		},
	}
}

// exits are the exit codes of policy check.
var exits = map[policy.Verdict]int{policy.Allow: 0, policy.Ask: 3, policy.Deny: 4}

// judge prints what the policy says to a command in the working directory, which is the
// workspace.
func judge(a command.Act, why bool) (int, error) {
	p, err := policyOf(a.Settings)
	if err != nil {
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, fault.From(err)
	}
	home, _ := os.UserHomeDir() // where there is none, nothing is below it
	env, err := process.Environment{Server: a.Environ, Pass: a.Settings.List("pass-env")}.Build(nil)
	r := policy.Request{
		Shell: findShell(), Dir: dir, Home: home, Workspace: []string{dir}, Env: env, Links: links{}, Sandbox: restrictionsBy(a.Settings),
	}
	list, isList := a.Words["argv"]
	switch {
	case err != nil:
	case isList == (len(a.Args) == 1):
		err = fault.New(fault.Misconfigured, "there is not exactly one command", "Give a command line, or --argv")
	case isList:
		if json.Unmarshal([]byte(list), &r.Argv) != nil || len(r.Argv) == 0 {
			err = fault.New(fault.Misconfigured, "--argv is no JSON list of strings", `Write --argv '["ls","-l"]'`)
		}
	default:
		r.Text = a.Args[0]
	}
	if err != nil {
		return 0, err
	}

	d := p.Judge(r)
	text := d.Verdict().String() + "\n"
	if why {
		text = d.Explain()
	}
	_, err = io.WriteString(a.Stdout, text)
	return exits[d.Verdict()], err
}

// superviseJob is the whole life of the process that watches over a detached command. It
// has a sandbox of its own, with the settings of the server that started it.
func superviseJob(a command.Act) error {
	restrict.Private()
	s := &shell{settings: a.Settings, own: a.Own, project: a.Words["project"]}
	if err := s.prepare(a.Settings.List("allow-path"), nil); err != nil {
		return err
	}
	s.openSandbox()
	if err := s.sandbox.wait(); err != nil {
		return err
	}
	if err := s.makeDirectories(); err != nil {
		return fault.From(err)
	}
	store, err := s.openStore()
	if err != nil {
		return err
	}
	s.store = store
	defer s.close()
	signals, stop := process.Signals()
	defer stop()
	in := io.NopCloser(a.Stdin)
	out := struct {
		io.Writer
		io.Closer
	}{a.Stdout, in} // closing it does nothing either
	c := process.Config{Starter: s.sandbox, Store: store, Jobs: s.jobs(), Project: s.project, Temp: s.temp}
	return process.Supervise(c, in, out, signals)
}

// inherited are the settings of this server as flags of another process, with absolute paths: it starts elsewhere.
func (s *shell) inherited() []string {
	var flags []string
	for _, f := range s.settings.Flags() {
		if f.Name == "config" || !s.settings.Given(f.Name) && f.Name != "allow-path" {
			continue
		}
		words := s.dirs
		switch {
		case f.Name == "allow-path":
		case f.Dir && f.Kind == settings.List:
			words = s.settings.List(f.Name)
		case f.Dir:
			words = []string{s.settings.Text(f.Name)}
		default:
			words = s.settings.Words(f.Name)
		}
		for _, word := range words {
			flags = append(flags, "--"+f.Name+"="+word)
		}
	}
	return flags
}
