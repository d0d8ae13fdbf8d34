package main

import (
	"fmt"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// markdown escapes what has a meaning in Markdown, so that a flag and a path can be copied.
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`,
	"[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`, "&", `\&`, "\n", " ")

// manual is the page of a program for man(1), by the writer that cobra's own pages use. Those
// would be a page for each command, without the variables. It carries no date: two builds of
// one commit are the same.
func manual(a about) []byte {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, "\n# %s\n\n", title) }

	fmt.Fprintf(&b, "%% %q \"1\" \"\" %q \"MCP servers\"\n", strings.ToUpper(a.Name), a.Name+" "+a.Version)
	section("NAME")
	fmt.Fprintf(&b, "%s - %s\n", a.Name, markdown.Replace(a.Title))
	section("SYNOPSIS")
	fmt.Fprintf(&b, "**%s** \\[command\\] \\[flags\\]\n", a.Name)
	section("DESCRIPTION")
	b.WriteString(markdown.Replace(a.Doc) + "\n\n")
	b.WriteString("Without a command it serves MCP on stdin and stdout, or over HTTP (--transport http).\n")
	section("COMMANDS")
	for _, c := range a.Commands {
		fmt.Fprintf(&b, "## %s\n\n%s.\n\n", markdown.Replace(c.Use), markdown.Replace(c.Short))
		if c.Flags != "" {
			fmt.Fprintf(&b, "```\n%s```\n\n", c.Flags)
		}
	}
	section("OPTIONS")
	b.WriteString("Each can also be set by the variable named with it, or under its name in the file of --config.\n\n")
	for _, f := range a.Flags {
		meaning := f.Doc
		if f.Default != "" {
			meaning += fmt.Sprintf(" (default %s)", f.Default)
		}
		word := strings.TrimSpace("--" + f.Name + " " + f.Shape)
		fmt.Fprintf(&b, "**%s**\n: %s\n\n", markdown.Replace(word), markdown.Replace(meaning+". "+f.Variable))
	}
	section("FILES")
	fmt.Fprintf(&b, "The audit log is mcp-server/audit/%s.jsonl in $XDG\\_STATE\\_HOME, or in \\~/.local/state, "+
		"unless --audit-log names another.\n", a.Name)
	section("EXIT STATUS")
	b.WriteString("0 for success, 1 for a failure, 2 for invalid settings or an invalid command line.\n")
	return md2man.Render([]byte(b.String()))
}
