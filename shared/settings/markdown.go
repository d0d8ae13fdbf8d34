package settings

import (
	"fmt"
	"strings"
)

// Markdown is the table of flags for a README: flag, meaning, default.
func Markdown(flags []Flag) string {
	var b strings.Builder
	b.WriteString("| flag | meaning | default |\n|---|---|---|\n")
	for _, f := range flags {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.inMarkdown(), cell(f.Doc), code(f.Default))
	}
	return b.String()
}

func (f Flag) inMarkdown() string {
	usage := "--" + f.Name
	if shape := f.Shape(); shape != "" {
		usage += " " + shape
	}
	if f.Repeats() {
		return code(usage) + " (repeatable)"
	}
	return code(usage)
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + cell(s) + "`"
}

// cell keeps a text within its cell: a bar would end it, even within code.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
