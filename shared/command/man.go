package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// about is a program for those who write of it: packages and their manifests.
type about struct {
	Name    string      `json:"name"`
	Title   string      `json:"title"`
	Doc     string      `json:"doc"`
	Version string      `json:"version"`
	Flags   []aboutFlag `json:"flags"`
}

// aboutFlag is one of its settings.
type aboutFlag struct {
	Name     string   `json:"name"`
	Shape    string   `json:"shape,omitempty"` // what stands behind it; none: true or false
	Doc      string   `json:"doc"`
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	Variable string   `json:"variable"`
}

// manCommand is hidden: those who need it make packages.
func (a *app) manCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:    "man",
		Short:  "Print the manual page, for man(1)",
		Hidden: true,
		Args:   a.noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(a.env.Stdout, a.describe())
			}
			_, err := io.WriteString(a.env.Stdout, a.manual(c.Root()))
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "what it is made from, without the commands")
	return c
}

func (a *app) describe() about {
	d := about{Name: a.Name, Title: a.Title, Doc: a.Doc, Version: a.version().Version}
	for _, f := range a.Settings() {
		d.Flags = append(d.Flags, aboutFlag{f.Name, f.Shape(), f.Doc, f.Default, f.Choices, a.set.Variable(f.Name)})
	}
	return d
}

// manual is the page in the macros of man(7), which every reader of manuals has. It
// carries no date: two builds of one commit are the same.
func (a *app) manual(root *cobra.Command) string {
	d := a.describe()
	var p page
	p.macro("TH", strings.ToUpper(d.Name), "1", "", d.Name+" "+d.Version, "MCP servers")
	p.section("NAME")
	p.line(d.Name + " - " + d.Title)
	p.section("SYNOPSIS")
	p.macro("B", d.Name)
	p.line("[command] [flags]")
	p.section("DESCRIPTION")
	p.line(d.Doc)
	p.macro("PP")
	p.line(bare)
	p.section("COMMANDS")
	p.commands(root)
	p.section("OPTIONS")
	p.line("Each may also be set by the variable that stands with it, or under its name in the file of --config.")
	for _, f := range d.Flags {
		p.setting(f)
	}
	p.section("FILES")
	p.line("The audit log is mcp-server/audit/" + d.Name + ".jsonl in $XDG_STATE_HOME, or in ~/.local/state, unless --audit-log says otherwise.")
	p.section("EXIT STATUS")
	p.line("0 for success, 1 for a failure, 2 for a fault of the settings or of the command line.")
	return p.String()
}

// page is a manual page as it is written. A text never becomes a request to the
// reader, whatever it begins with or holds.
type page struct{ strings.Builder }

// troff escapes what means something within a line, or is printed as something else: a
// flag and a path can be copied.
var troff = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`, `~`, `\(ti`, `^`, `\(ha`, "`", `\(ga`, "\n", " ")

func (p *page) line(text string) { p.WriteString(`\&` + troff.Replace(text) + "\n") }

func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + troff.Replace(arg) + `"`)
	}
	p.WriteString("\n")
}

func (p *page) section(title string) { p.macro("SH", title) }

// term is a word with what it means.
func (p *page) term(word, meaning string) {
	p.macro("TP")
	p.macro("B", word)
	p.line(meaning)
}

// commands are those below c that its help names, each with the flags that are its
// own.
func (p *page) commands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if sub.Runnable() && !sub.HasAvailableSubCommands() {
			p.term(strings.TrimSuffix(sub.UseLine(), " [flags]"), sub.Short+".")
			sub.LocalNonPersistentFlags().VisitAll(p.flag)
		}
		p.commands(sub)
	}
}

// flag is a flag of one command, in the paragraph of that command.
func (p *page) flag(f *pflag.Flag) {
	if f.Name == "help" || f.Hidden {
		return
	}
	value, meaning := pflag.UnquoteUsage(f)
	word := "--" + f.Name
	if f.Shorthand != "" {
		word = "-" + f.Shorthand + ", " + word
	}
	p.macro("br")
	p.line(strings.TrimSpace(word+" "+value) + ": " + meaning)
}

func (p *page) setting(f aboutFlag) {
	meaning := f.Doc
	if f.Default != "" {
		meaning += fmt.Sprintf(" (default %s)", f.Default)
	}
	p.term(strings.TrimSpace("--"+f.Name+" "+f.Shape), meaning+". "+f.Variable)
}
