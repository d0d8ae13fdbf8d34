package settings

import (
	"fmt"
	"strings"
)

// Markdown is the table of flags for a README: flag, meaning, default. A bar is escaped
// everywhere: it would end a cell, even within code.
func Markdown(flags []Flag) string {
	var b strings.Builder
	b.WriteString("| flag | meaning | default |\n|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, f := range flags {
		repeats, def := "", "–"
		if f.Repeats() {
			repeats = " (repeatable)"
		}
		if f.Default != "" {
			def = "`" + cell.Replace(f.Default) + "`"
		}
		usage := strings.TrimSuffix("--"+f.Name+" "+f.Shape(), " ")
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", cell.Replace(usage), repeats, cell.Replace(f.Doc), def)
	}
	return b.String()
}
