package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/hosts"
	"github.com/multiollama/mcp-server/shared/settings"
)

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
			h, e, err := a.entry(args[0], name)
			if err != nil {
				return err
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s: add this to %s\n", h.Title, h.Where(runtime.GOOS))
			if run := h.Run(e); run != nil && runtime.GOOS != "windows" { // PowerShell and cmd quote differently, and neither reliably
				fmt.Fprintf(&b, "or run: %s\n", shellLine(run))
			}
			if link := h.Link(e); link != "" {
				fmt.Fprintf(&b, "or open: %s\n", link)
			}
			if _, err := io.WriteString(a.env.Stderr, b.String()+heed(h, e)+"\n"); err != nil {
				return err
			}
			_, err = io.WriteString(a.env.Stdout, h.Snippet(e))
			return err
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

// target is the entry of a file that is meant, and how it is changed.
type target struct {
	name    string
	file    string // empty: the host's
	project bool
	dry     bool
	replace bool
}

func (t *target) bind(c *cobra.Command, server string) {
	c.Flags().StringVar(&t.name, "name", server, "the server's name in the host")
	c.Flags().BoolVar(&t.project, "project", false, "the file of the project in the working directory, not the user's")
	c.Flags().StringVar(&t.file, "file", "", "another file than the host's")
	c.Flags().BoolVar(&t.dry, "dry-run", false, "print the change as a unified difference, and change nothing")
}

func (a *app) installCommand() *cobra.Command {
	var t target
	c := &cobra.Command{
		Use:   "install [HOST]",
		Short: "Register this server in a host's configuration file, with these settings",
		Long: "Register this server in a host's configuration file, with these settings: the entry\n" +
			"that config prints. All else in the file stays as it is, and a copy of the file as it\n" +
			"was is kept beside it. Without HOST it lists the hosts, and which of them are here.",
		Args:      arguments(0, 1),
		ValidArgs: hosts.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.findHosts()
			}
			h, e, err := a.entry(args[0], t.name)
			if err != nil {
				return err
			}
			path, err := a.fileOf(h, t)
			if err != nil {
				return err
			}
			if found := h.Expands(e); found != "" {
				return fault.New(fault.Misconfigured, fmt.Sprintf("%s replaces what follows %s in the values of its configuration", h.Title,
					found), "Use a path without it")
			}
			done, already := fmt.Sprintf("%s is registered with %s now", t.name, h.Title),
				fmt.Sprintf("%s is registered with %s already, just so", t.name, h.Title)
			return a.change(h, path, t.dry, done, already, heed(h, e), func(d hosts.Document) ([]byte, error) { return d.Put(e, t.replace) })
		},
	}
	t.bind(c, a.Name)
	c.Flags().BoolVar(&t.replace, "replace", false, "replace an entry of that name that starts something else")
	return c
}

func (a *app) uninstallCommand() *cobra.Command {
	var t target
	c := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Take this server out of a host's configuration file",
		Long: "Take this server out of a host's configuration file. All else in the file stays as it\n" +
			"is, and a copy of the file as it was is kept beside it.",
		Args:      arguments(1, 1),
		ValidArgs: hosts.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := hostOf(args[0])
			if err != nil {
				return err
			}
			binary, err := a.path()
			if err != nil {
				return err
			}
			path, err := a.fileOf(h, t)
			if err != nil {
				return err
			}
			done := fmt.Sprintf("%s is not registered with %s any more", t.name, h.Title)
			already := fmt.Sprintf("%s is not registered with %s: there is nothing to take out", t.name, h.Title)
			return a.change(h, path, t.dry, done, already, "", func(d hosts.Document) ([]byte, error) {
				text, _, err := d.Take(t.name, a.Name, binary)
				return text, err
			})
		},
	}
	t.bind(c, a.Name)
	return c
}

// findHosts lists the hosts, those that seem to be on this machine first.
func (a *app) findHosts() error {
	s, err := a.system()
	if err != nil {
		return err
	}
	var here, others bytes.Buffer
	table := tabwriter.NewWriter(a.env.Stdout, 0, 0, 2, ' ', 0)
	for _, h := range hosts.All() {
		if h.Here(s) {
			fmt.Fprintf(&here, "%s\t%s\there\t%s\n", h.Name, h.Title, h.Where(s.OS))
		} else {
			fmt.Fprintf(&others, "%s\t%s\t\t%s\n", h.Name, h.Title, h.Where(s.OS))
		}
	}
	fmt.Fprint(table, "HOST\tPROGRAM\t\tFILE\n", here.String(), others.String())
	return table.Flush()
}

func (a *app) system() (hosts.System, error) {
	dir, err := os.Getwd()
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	return hosts.System{OS: runtime.GOOS, Environ: a.env.Environ, Dir: dir, Exists: exists}, err
}

// fileOf is the file that t means.
func (a *app) fileOf(h hosts.Host, t target) (string, error) {
	if t.file != "" {
		return filepath.Abs(t.file)
	}
	s, err := a.system()
	if err != nil {
		return "", err
	}
	return h.File(s, t.project, t.name)
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

// entry is the host, and the entry for it. The binary and every path in it are absolute:
// hosts start servers from any directory, and several with a minimal PATH.
func (a *app) entry(host, name string) (h hosts.Host, e hosts.Entry, err error) {
	if h, err = hostOf(host); err != nil {
		return h, e, err
	}
	// The name becomes part of the names of tools, and a bare key in YAML and TOML.
	if !isWord(name, 64, "_-") || !isLetter(rune(name[0])) {
		return h, e, fault.New(fault.Misconfigured, fmt.Sprintf("%q is no name for a server", name),
			"Use a letter, then letters, digits, - and _, at most 64")
	}
	binary, err := a.path()
	if err != nil {
		return h, e, err
	}
	set, err := a.load()
	if err != nil {
		return h, e, err
	}
	if overHTTP(set) {
		return h, e, fault.New(fault.Misconfigured, "hosts start a server themselves, and speak with it on stdin and stdout",
			"Leave --transport out")
	}

	// The command line that means these settings wherever it is run: those of the command line
	// and the environment, and the allowed directories even by default. Settings of the file
	// stay in the file.
	e = hosts.Entry{Name: name, Program: a.Name, Command: binary, Args: []string{}}
	for _, f := range set.Flags() {
		if strings.HasPrefix(set.Source(f.Name), "file ") || !set.Given(f.Name) && f.Name != "allow-path" {
			continue
		}
		for _, word := range set.Words(f.Name) {
			switch {
			case f.Kind != settings.Bool:
				e.Args = append(e.Args, "--"+f.Name, word)
			case word == "true":
				e.Args = append(e.Args, "--"+f.Name)
			default: // one word: the next one would be an argument
				e.Args = append(e.Args, "--"+f.Name+"="+word)
			}
		}
	}
	for _, word := range append([]string{binary}, e.Args...) {
		if !utf8.ValidString(word) {
			return h, e, fault.New(fault.Misconfigured, fmt.Sprintf("%q is not UTF-8, and no host's configuration can hold it", word),
				"Use a path whose name is UTF-8")
		}
	}
	return h, e, nil
}

// path is the path of the binary.
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

// change reads the file, changes its text, and writes it. If another program writes it
// meanwhile, that is tried again, five times at most.
func (a *app) change(h hosts.Host, path string, dry bool, done, already, note string, edit func(hosts.Document) ([]byte, error)) error {
	for tries := 1; ; tries++ {
		f, d, err := document(h, path)
		if err != nil {
			return err
		}
		text, err := edit(d)
		if err != nil {
			return within(path, err)
		}
		if bytes.Equal(f.Text, text) {
			_, err := fmt.Fprintf(a.env.Stdout, "%s\n  file: %s\n", already, path)
			return err
		}
		if dry {
			_, err := io.WriteString(a.env.Stdout, hosts.Diff(path, f.Text, text))
			return err
		}
		backup, err := f.Write(text, time.Now())
		if errors.Is(err, hosts.Changed) && tries < 5 {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(a.env.Stderr, note); err != nil {
			return err
		}
		report := fmt.Sprintf("%s\n  file: %s\n", done, path)
		if backup != "" {
			report += fmt.Sprintf("  as it was: %s\n", backup)
		}
		_, err = io.WriteString(a.env.Stdout, report)
		return err
	}
}

// document is a host's file, parsed. An error names the file.
func document(h hosts.Host, path string) (f hosts.File, d hosts.Document, err error) {
	if f, err = hosts.Read(path); err != nil {
		return f, d, err
	}
	if d, err = h.Parse(path, f.Text); err != nil {
		return f, d, within(path, err)
	}
	return f, d, nil
}

// within is err with the file that it is about.
func within(path string, err error) error {
	e := *fault.From(err)
	e.Msg = path + ": " + e.Msg
	return &e
}
