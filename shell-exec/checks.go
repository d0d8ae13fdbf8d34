package main

import (
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
)

// checks are the lines of doctor about what restricts commands.
func (s *shell) checks() []command.Check {
	shell := command.Check{Verdict: command.OK, Subject: "shell", Text: s.shell.Path + " runs command lines, without start-up files"}
	if s.shell.Path == "" {
		shell = command.Check{Verdict: command.Bad, Subject: "shell", Text: "there is neither bash nor sh", Fix: "Install bash"}
	}
	consent := "what needs consent is asked for through the host, and refused where it cannot ask"
	if s.settings.Text("ask") == "deny" {
		consent = "what needs consent is refused"
	}
	preset := "the preset " + s.limits.now().policy.Name()
	checks := []command.Check{shell, {Verdict: command.OK, Subject: "policy", Text: preset + " judges commands before they run; " + consent}}

	s.unrestricted = true // until it was seen otherwise
	if s.settings.Text("sandbox") == "off" {
		return append(checks, command.Check{
			Verdict: command.Warn, Subject: "sandbox", Text: "is off: commands can do what the user can", Fix: "Leave --sandbox out",
		})
	}
	if err := s.stateApart(); err != nil {
		f := fault.From(err)
		checks = append(checks, command.Check{Verdict: command.Bad, Subject: "state", Text: f.Msg, Fix: f.Do})
	}
	s.openSandbox()
	if err := s.sandbox.wait(); err != nil {
		return append(checks, command.Check{Verdict: command.Bad, Subject: "sandbox", Text: err.Error()})
	}
	defer s.sandbox.Close()
	missing := command.Warn
	if s.settings.Text("sandbox") == "required" {
		missing = command.Bad
	}
	s.unrestricted = false
	for _, p := range s.sandbox.Report() {
		s.unrestricted = s.unrestricted || !p.Holds && (p.Name == "read" || p.Name == "write")
		c := command.Check{Verdict: command.OK, Subject: "sandbox: " + p.Name, Text: p.Why}
		if !p.Holds {
			c.Verdict, c.Text, c.Fix = missing, "no: "+p.Why, p.Fix
		}
		checks = append(checks, c)
	}
	return checks
}
