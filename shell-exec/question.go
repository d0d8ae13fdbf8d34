package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
)

// quoteLines marks each line of a command, so that none can pass for a line of the question.
func quoteLines(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// question is what the user is asked about d: all of the command, every reason, and what
// it can do after a yes. can is that last part.
func question(d policy.Decision, title, dir string, r policy.Request, after string) toolkit.Question {
	command, reasons := quoteLines(d.Text()), []string(nil)
	if r.Input != "" {
		command += "\n\nIts standard input:\n" + quoteLines(r.Input)
	}
	for i, name := range slices.Sorted(maps.Keys(r.Given)) {
		if i == 0 {
			command += "\n\nIts environment variables:"
		}
		command += "\n> " + text.Escape(name+"="+r.Given[name])
	}
	for _, f := range d.Asked() {
		why := f.Why
		if len(f.Via) > 0 {
			why += " (inside " + strings.Join(f.Via, " > ") + ")"
		}
		reasons = append(reasons, why)
	}
	return toolkit.Question{ID: d.ID(), Title: title, Text: questionText(command, dir, reasons...) + after}
}

// questionText is what is asked about, as quoted text, where it runs, and why it is asked.
func questionText(command, dir string, reasons ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nIt runs in %s.\n\nYou are asked because:\n", command, text.Escape(dir))
	for _, why := range reasons {
		fmt.Fprintf(&b, "- %s\n", text.Escape(why))
	}
	return b.String() + "\nIf you agree, "
}

// afterTyping is what a text may do that is typed after a yes.
func afterTyping(h policy.Sandbox) string {
	if !h.Files {
		return "it is typed once, and no sandbox keeps what it runs to certain files: it can do everything that the user of this server can do."
	}
	return "it is typed once. What it runs stays inside the sandbox that the terminal was started in; a yes opens nothing there."
}

// afterApproval is what a command may do after a yes, in plain words.
func afterApproval(h policy.Sandbox, dirs []string, online bool, g grant) string {
	switch {
	case g.program != "":
		return "this one command runs once, outside the sandbox, with root's rights or those of the user that it names: " +
			"it can read, change, and delete anything on this machine. The program is " + text.Escape(g.program) + "."
	case !h.Files:
		return "all of it runs once, and no sandbox keeps it to certain files: it can do everything that the user of this server can do."
	}
	var b strings.Builder
	network := "not use the network"
	if online {
		network = "use the network"
	}
	fmt.Fprintf(&b, "all of it runs once, inside the sandbox, as every command here: "+
		"it can change files in %s and in its own caches, read the system and %s, and %s.",
		text.Escape(strings.Join(dirs, ", ")), text.Escape(strings.Join(append([]string{"tools"}, h.Read...), ", ")), network)
	for _, file := range g.read {
		fmt.Fprintf(&b, "\nAll of it can also read this file: %s", text.Escape(file.Path()))
	}
	for _, file := range g.write {
		fmt.Fprintf(&b, "\nAll of it can also read and change this file: %s", text.Escape(file.Path()))
	}
	b.WriteString("\nNothing else is opened.")
	return b.String()
}
