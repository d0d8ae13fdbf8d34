package main

import (
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/file-write/internal/guard"
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/settings"
)

// checks are the lines of doctor about what this server refuses and keeps.
func checks(s *settings.Set, st store) []command.Check {
	var all []command.Check
	var patterns []string
	rows := guard.Paths()
	for i, row := range rows {
		patterns = append(patterns, row.Pattern)
		if i+1 < len(rows) && rows[i+1].Why == row.Why {
			continue
		}
		all = append(all, command.Check{Verdict: command.OK, Subject: "protected", Text: strings.Join(patterns, " ") + ": " + row.Why})
		patterns = nil
	}
	all = append(all, command.Check{Verdict: command.OK, Subject: "protected", Text: guard.Repository.Pattern + ": " + guard.Repository.Why})
	if open := s.List("allow-protected"); len(open) > 0 {
		all = append(all, command.Check{Verdict: command.Warn, Subject: "protected", Text: "except " + strings.Join(open, ", ") + ", which may be written",
			Fix: "Leave --allow-protected out where that is not meant"})
	}
	return append(all, executables(s), keeping(s, st))
}

// spares are, in plain words, what nobody opened to changes.
func spares(s *settings.Set) []string {
	var all []string
	if len(s.List("allow-mime")) == 0 {
		all = append(all, "programs and scripts")
	}
	if len(s.List("allow-protected")) == 0 {
		all = append(all, "protected paths that run code later")
	}
	return all
}

func executables(s *settings.Set) command.Check {
	var names []string
	for _, row := range guard.Extensions() {
		names = append(names, row.Ext)
	}
	c := command.Check{Verdict: command.OK, Subject: "executables", Text: "are refused by content, where a file has an executable bit, and by name: " + strings.Join(names, " ")}
	if open := s.List("allow-mime"); len(open) > 0 {
		c.Verdict, c.Fix = command.Warn, "Leave --allow-mime out where that is not meant"
		c.Text += "; except " + strings.Join(open, ", ")
	}
	return c
}

func keeping(s *settings.Set, st store) command.Check {
	if st.dir == "" {
		return command.Check{Verdict: command.Warn, Subject: "history", Text: "is off: what is overwritten is lost", Fix: "Leave --history out"}
	}
	return command.Check{Verdict: command.OK, Subject: "history",
		Text: fmt.Sprintf("keeps what was there before a change in %s, up to %d bytes and for %s; where it cannot be opened the server does not start", st.dir, s.Size("history-size"), s.Duration("history-age"))}
}
