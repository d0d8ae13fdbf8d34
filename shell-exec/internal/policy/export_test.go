package policy

import "github.com/multiollama/mcp-server/shell-exec/internal/effect"

// Consented says that the table has a row for kind.
func Consented(kind effect.Kind) bool { _, ok := consents[kind]; return ok }
