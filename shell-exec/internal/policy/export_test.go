package policy

import "github.com/multiollama/mcp-server/shell-exec/internal/effect"

// Findings are the reasons, the strictest first; those that allow are among them.
func (d Decision) Findings() []Finding { return d.findings }

// Commands are the simple commands that would run.
func (d Decision) Commands() []effect.Command { return d.commands }

// Consented says that the table has a row for kind.
func Consented(kind effect.Kind) bool { _, ok := consents[kind]; return ok }
