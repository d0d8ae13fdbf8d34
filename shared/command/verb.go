package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/settings"
)

// Verb is a command that a server has beside those that all have.
type Verb struct {
	Use, Short, Long string
	Hidden           bool   // for the program itself
	Least, Most      int    // arguments; Most below zero: any number
	Words            []Word // its own flags
	Verbs            []Verb // below it; then Run is nil
	Run              func(context.Context, Act) (exit int, err error)
}

// Word is a flag of a Verb; its value is any text.
type Word struct{ Name, Doc string }

// Act is what a Verb works on.
type Act struct {
	Settings *settings.Set // loaded and checked
	Own      Own
	Args     []string
	Words    map[string]string // the values of the Verb's flags that were given
	Environment
}

func (a *app) verb(v Verb) *cobra.Command {
	c := &cobra.Command{Use: v.Use, Short: v.Short, Long: v.Long, Hidden: v.Hidden}
	if v.Run == nil {
		c.Args, c.RunE = a.noCommand, help
		for _, below := range v.Verbs {
			c.AddCommand(a.verb(below))
		}
		return c
	}
	values := make([]string, len(v.Words))
	for i, w := range v.Words {
		c.Flags().StringVar(&values[i], w.Name, "", w.Doc)
	}
	c.Args = arguments(v.Least, v.Most)
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := a.load()
		if err != nil {
			return err
		}
		act := Act{Settings: set, Own: a.own(set), Args: args, Words: map[string]string{}, Environment: a.env}
		for i, w := range v.Words {
			if c.Flags().Changed(w.Name) {
				act.Words[w.Name] = values[i]
			}
		}
		exit, err := v.Run(c.Context(), act)
		if err == nil && exit != 0 {
			err = exited(exit)
		}
		return err
	}
	return c
}
