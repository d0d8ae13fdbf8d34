package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// description is a program for what a release writes of it: man page and manifests.
type description struct {
	Name     string               `json:"name"`
	Title    string               `json:"title"`
	Doc      string               `json:"doc"`
	Version  string               `json:"version"`
	Commands []commandDescription `json:"commands"`
	Flags    []flagDescription    `json:"flags"`
}

type commandDescription struct {
	Use   string `json:"use"`
	Short string `json:"short"`
	Flags string `json:"flags"` // its own, as help prints them
}

type flagDescription struct {
	Name     string   `json:"name"`
	Shape    string   `json:"shape,omitempty"` // what follows it; none: true or false
	Doc      string   `json:"doc"`
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	Variable string   `json:"variable"`
}

// describeCommand is hidden: it is for those who make packages.
func (a *app) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "describe", Short: "Print commands and settings as JSON", Hidden: true, Args: a.noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			d := description{Name: a.Name, Title: a.Title, Doc: a.Doc, Version: a.version().Version}
			var add func(*cobra.Command)
			add = func(c *cobra.Command) {
				for _, sub := range c.Commands() {
					if !sub.IsAvailableCommand() {
						continue
					}
					if !sub.HasAvailableSubCommands() {
						d.Commands = append(d.Commands, commandDescription{
							strings.TrimSuffix(sub.UseLine(), " [flags]"), sub.Short, sub.LocalNonPersistentFlags().FlagUsages(),
						})
					}
					add(sub)
				}
			}
			add(c.Root())
			for _, f := range a.Settings() {
				d.Flags = append(d.Flags, flagDescription{f.Name, f.Shape(), f.Doc, f.Default, f.Choices, a.set.Variable(f.Name)})
			}
			return writeJSON(a.env.Stdout, d)
		},
	}
}
