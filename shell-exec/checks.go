package main

import (
	"fmt"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
)

// checks are the lines of doctor about what holds commands.
func (s *shell) checks() []command.Check {
	checks := []command.Check{s.shellCheck(), s.policyCheck()}
	s.unheld = true // until it was seen otherwise
	if s.settings.Text("sandbox") == "off" {
		return append(checks, command.Check{Verdict: command.Warn, Subject: "sandbox", Text: "is off: commands can do what the user can", Fix: "Leave --sandbox out"})
	}
	if err := s.stateApart(); err != nil {
		f := fault.From(err)
		checks = append(checks, command.Check{Verdict: command.Bad, Subject: "state", Text: f.Msg, Fix: f.Do})
	}
	s.openSandbox()
	if err := s.box.wait(); err != nil {
		return append(checks, command.Check{Verdict: command.Bad, Subject: "sandbox", Text: err.Error()})
	}
	defer s.box.Close()
	missing := command.Warn
	if s.settings.Text("sandbox") == "required" {
		missing = command.Bad
	}
	s.unheld = false
	for _, p := range s.box.Report() {
		s.unheld = s.unheld || !p.Holds && (p.Name == "read" || p.Name == "write")
		c := command.Check{Verdict: command.OK, Subject: "sandbox: " + p.Name, Text: p.Why}
		switch {
		case p.Holds:
		default:
			c.Verdict, c.Text, c.Fix = missing, "no: "+p.Why, p.Fix
		}
		checks = append(checks, c)
	}
	return checks
}

func (s *shell) shellCheck() command.Check {
	if s.shell.Path == "" {
		return command.Check{Verdict: command.Bad, Subject: "shell", Text: "there is neither bash nor sh", Fix: "Install bash"}
	}
	return command.Check{Verdict: command.OK, Subject: "shell", Text: s.shell.Path + " runs command lines, without start-up files"}
}

func (s *shell) policyCheck() command.Check {
	text := fmt.Sprintf("the preset %s judges commands before they run", s.held.Now().Policy.Name())
	if s.settings.Text("ask") == "deny" {
		return command.Check{Verdict: command.OK, Subject: "policy", Text: text + "; what needs consent is refused"}
	}
	return command.Check{Verdict: command.OK, Subject: "policy", Text: text + "; what needs consent is asked for through the host, and refused where it cannot ask"}
}
