package command

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is the output of version.
type build struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"`
}

func (b build) String() string {
	return fmt.Sprintf("%s %s (%s, %s)", b.Name, b.Version, b.Go, b.Platform)
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Tell which build this is",
		Args:  a.noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(a.env.Stdout, a.version())
			}
			_, err := fmt.Fprintln(a.env.Stdout, a.version())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

// version asks the build where the program does not say its version itself.
func (a *app) version() build {
	b := build{a.Name, a.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, ""}
	info, ok := debug.ReadBuildInfo()
	if ok && b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

// writeJSON writes v indented, with its characters as they are.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
