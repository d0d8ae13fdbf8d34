package command

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
)

// serverName is what every host takes for the name of a server: it becomes part
// of the names of tools, and a bare key in YAML and TOML.
func serverName(name string) bool {
	return isWord(name, 64, "_-") && isLetter(rune(name[0]))
}

func (a *app) configCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "config [HOST]",
		Short: "Print how a host registers this server, with these settings",
		Long: "Print how a host registers this server, with these settings. What to paste goes to\n" +
			"stdout, where to paste it to stderr. Without HOST it lists the hosts.",
		Args:      arguments(0, 1),
		ValidArgs: hostNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listHosts(a.env.Stdout, runtime.GOOS)
			}
			return a.register(args[0], name)
		},
	}
	c.Flags().StringVar(&name, "name", a.Name, "the server's name in the host")
	return c
}

func hostNames() []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	return names
}

func listHosts(w io.Writer, goos string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tPROGRAM\tWHERE")
	for _, h := range hosts {
		fmt.Fprintf(table, "%s\t%s\t%s\n", h.name, h.title, h.file(goos))
	}
	return table.Flush()
}

func (a *app) register(hostName, name string) error {
	names := hostNames()
	i := slices.Index(names, hostName)
	if i < 0 {
		return misused("there is no host "+hostName, hostName, names)
	}
	if !serverName(name) {
		return fault.New(fault.Misconfigured, fmt.Sprintf("%q is no name for a server", name),
			"Use a letter, then letters, digits, - and _, at most 64")
	}
	e, err := a.entry(name)
	if err != nil {
		return err
	}
	h := hosts[i]
	if _, err := io.WriteString(a.env.Stderr, h.instructions(e, runtime.GOOS)); err != nil {
		return err
	}
	_, err = io.WriteString(a.env.Stdout, h.snippet(e))
	return err
}

// entry has the binary and every path absolute: hosts start servers from any
// directory, and several with a minimal PATH.
func (a *app) entry(name string) (entry, error) {
	binary := a.env.Executable
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return entry{}, fault.New(fault.Unavailable, "the system does not say where this program lies", "").Because(err)
		}
	}
	set, err := a.load()
	if err != nil {
		return entry{}, err
	}
	e := entry{name, binary, lineOf(set)}
	for _, word := range append([]string{binary}, e.args...) {
		if !utf8.ValidString(word) {
			return entry{}, fault.New(fault.Misconfigured, fmt.Sprintf("%q is not UTF-8, and no host's configuration can hold it", word),
				"Use a path whose name is UTF-8")
		}
	}
	return e, nil
}

// lineOf is the command line that means set wherever it is run: what the
// command line or the environment says, and the allowed directories even where
// they are the default. What the file says stays in the file.
func lineOf(set *settings.Set) []string {
	args := []string{}
	for _, f := range set.Flags() {
		fromFile := strings.HasPrefix(set.Source(f.Name), "file ")
		if fromFile || !set.Given(f.Name) && f.Name != "allow-path" {
			continue
		}
		for _, word := range set.Words(f.Name) {
			args = append(args, onLine(f, word)...)
		}
	}
	return args
}

// instructions say where to paste, what to run instead, and what to heed.
func (h host) instructions(e entry, goos string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: add this to %s\n", h.title, h.file(goos))
	if h.run != nil && goos != "windows" { // PowerShell and cmd quote differently, and neither reliably
		fmt.Fprintf(&b, "or run: %s\n", shellLine(h.run(e)))
	}
	if h.link != nil {
		fmt.Fprintf(&b, "or open: %s\n", h.link(e))
	}
	if h.note != "" {
		fmt.Fprintf(&b, "note: %s.\n", h.note)
	}
	if h.expands != "" && strings.Contains(strings.Join(append(e.args, e.command), "\x00"), h.expands) {
		fmt.Fprintf(&b, "warning: %s replaces what follows %s in these values; use a path without it.\n", h.title, h.expands)
	}
	return b.String() + "\n"
}

// shellLine quotes words for a POSIX shell: within single quotes nothing has a
// meaning but the single quote itself.
func shellLine(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		if out[i] = word; !isWord(word, len(word), "_./:@=+-") {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// onLine is one giving of a flag. A Bool must be one word: the next one would
// be an argument.
func onLine(f settings.Flag, word string) []string {
	switch {
	case f.Kind != settings.Bool:
		return []string{"--" + f.Name, word}
	case word == "true":
		return []string{"--" + f.Name}
	}
	return []string{"--" + f.Name + "=" + word}
}
