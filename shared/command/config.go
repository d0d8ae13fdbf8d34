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
	"github.com/multiollama/mcp-server/shared/hosts"
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
		ValidArgs: hosts.Names(),
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

func listHosts(w io.Writer, goos string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tPROGRAM\tWHERE")
	for _, h := range hosts.All() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", h.Name, h.Title, h.Where(goos))
	}
	return table.Flush()
}

func (a *app) register(hostName, name string) error {
	h, err := hostOf(hostName)
	if err != nil {
		return err
	}
	e, err := a.entry(name)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.env.Stderr, instructions(h, e, runtime.GOOS)); err != nil {
		return err
	}
	_, err = io.WriteString(a.env.Stdout, h.Snippet(e))
	return err
}

// hostOf is the host of that name.
func hostOf(name string) (hosts.Host, error) {
	all := hosts.All()
	i := slices.IndexFunc(all, func(h hosts.Host) bool { return h.Name == name })
	if i < 0 {
		return hosts.Host{}, misused("there is no host "+name, name, hosts.Names())
	}
	return all[i], nil
}

// entry has the binary and every path absolute: hosts start servers from any
// directory, and several with a minimal PATH.
func (a *app) entry(name string) (hosts.Entry, error) {
	if !serverName(name) {
		return hosts.Entry{}, fault.New(fault.Misconfigured, fmt.Sprintf("%q is no name for a server", name),
			"Use a letter, then letters, digits, - and _, at most 64")
	}
	binary, err := a.path()
	if err != nil {
		return hosts.Entry{}, err
	}
	set, err := a.load()
	if err != nil {
		return hosts.Entry{}, err
	}
	if overHTTP(set) {
		return hosts.Entry{}, fault.New(fault.Misconfigured, "hosts start a server themselves, and speak with it on stdin and stdout", "Leave --transport out")
	}
	e := hosts.Entry{Name: name, Program: a.Name, Command: binary, Args: lineOf(set)}
	for _, word := range append([]string{binary}, e.Args...) {
		if !utf8.ValidString(word) {
			return hosts.Entry{}, fault.New(fault.Misconfigured, fmt.Sprintf("%q is not UTF-8, and no host's configuration can hold it", word),
				"Use a path whose name is UTF-8")
		}
	}
	return e, nil
}

// path is where the binary lies.
func (a *app) path() (string, error) {
	if a.env.Executable != "" {
		return a.env.Executable, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fault.New(fault.Unavailable, "the system does not say where this program lies", "").Because(err)
	}
	return path, nil
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
func instructions(h hosts.Host, e hosts.Entry, goos string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: add this to %s\n", h.Title, h.Where(goos))
	if run := h.Run(e); run != nil && goos != "windows" { // PowerShell and cmd quote differently, and neither reliably
		fmt.Fprintf(&b, "or run: %s\n", shellLine(run))
	}
	if link := h.Link(e); link != "" {
		fmt.Fprintf(&b, "or open: %s\n", link)
	}
	return b.String() + heed(h, e) + "\n"
}

// heed is what one should know about a host, and about an entry in it.
func heed(h hosts.Host, e hosts.Entry) string {
	text := ""
	if h.Note != "" {
		text = fmt.Sprintf("note: %s.\n", h.Note)
	}
	if found := h.Expands(e); found != "" {
		text += fmt.Sprintf("warning: %s replaces what follows %s in these values; use a path without it.\n", h.Title, found)
	}
	return text
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
