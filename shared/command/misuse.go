package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
)

// misused is the error of a word on the command line that is not one of known.
func misused(what, word string, known []string) error {
	do := "Use one of " + strings.Join(known, ", ")
	if near := settings.Nearest(word, known); near != "" {
		do = fmt.Sprintf("Did you mean %s?", near)
	}
	return fault.New(fault.Misconfigured, what, do)
}

// noCommand rejects an argument in the place of a command.
func (a *app) noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	if len(known) == 0 {
		return fault.New(fault.Misconfigured, fmt.Sprintf("%s takes no argument, and got %s", c.CommandPath(), args[0]), "Remove it")
	}
	return misused(fmt.Sprintf("%s has no command %s", c.CommandPath(), args[0]), args[0], known)
}

// arguments refuses fewer than minimum and more than maximum arguments.
func arguments(minimum, maximum int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= minimum && (maximum < 0 || len(args) <= maximum) {
			return nil
		}
		return fault.New(fault.Misconfigured, fmt.Sprintf("%s got %d arguments", c.CommandPath(), len(args)), "Write "+c.UseLine())
	}
}

// flagError names the flag that was probably meant.
func flagError(c *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return fault.New(fault.Misconfigured, err.Error(), fmt.Sprintf("See %s --help", c.CommandPath()))
	}
	name := unknown.GetSpecifiedName()
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	do := fmt.Sprintf("See %s --help", c.CommandPath())
	if near := settings.Nearest(name, known); near != "" {
		do = fmt.Sprintf("Did you mean --%s?", near)
	}
	return fault.New(fault.Misconfigured, fmt.Sprintf("%s has no flag --%s", c.CommandPath(), name), do)
}
