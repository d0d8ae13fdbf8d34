package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/hosts"
)

// target says which entry of which file is meant, and how it is changed.
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
			return a.install(args[0], t)
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
		RunE:      func(_ *cobra.Command, args []string) error { return a.uninstall(args[0], t) },
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
	if err != nil {
		return hosts.System{}, err
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	return hosts.System{OS: runtime.GOOS, Environ: a.env.Environ, Dir: dir, Exists: exists}, nil
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

func (a *app) install(hostName string, t target) error {
	h, err := hostOf(hostName)
	if err != nil {
		return err
	}
	e, err := a.entry(t.name)
	if err != nil {
		return err
	}
	path, err := a.fileOf(h, t)
	if err != nil {
		return err
	}
	if found := h.Expands(e); found != "" {
		return fault.New(fault.Misconfigured, fmt.Sprintf("%s replaces what follows %s in the values of its configuration", h.Title, found), "Use a path without it")
	}
	return a.change(h, path, t, says{
		done:    fmt.Sprintf("%s is registered with %s now", t.name, h.Title),
		already: fmt.Sprintf("%s is registered with %s already, just so", t.name, h.Title),
		heed:    heed(h, e),
	}, func(d hosts.Document) ([]byte, error) { return d.Put(e, t.replace) })
}

func (a *app) uninstall(hostName string, t target) error {
	h, err := hostOf(hostName)
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
	return a.change(h, path, t, says{
		done:    fmt.Sprintf("%s is not registered with %s any more", t.name, h.Title),
		already: fmt.Sprintf("%s is not registered with %s: there is nothing to take out", t.name, h.Title),
	}, func(d hosts.Document) ([]byte, error) {
		text, _, err := d.Take(t.name, a.Name, binary)
		return text, err
	})
}

// says is what is said to the person.
type says struct{ done, already, heed string }

// tries is how often a file is read again that others write at the same time.
const tries = 5

// change reads the file, changes its text, and writes it.
func (a *app) change(h hosts.Host, path string, t target, s says, edit func(hosts.Document) ([]byte, error)) error {
	for left := tries - 1; ; left-- {
		f, d, err := document(h, path)
		if err != nil {
			return err
		}
		text, err := edit(d)
		if err != nil {
			return within(path, err)
		}
		if bytes.Equal(f.Text, text) {
			return a.say(s.already, path, "")
		}
		if t.dry {
			_, err := io.WriteString(a.env.Stdout, hosts.Diff(path, f.Text, text))
			return err
		}
		backup, err := f.Write(text, time.Now())
		if errors.Is(err, hosts.Changed) && left > 0 {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(a.env.Stderr, s.heed); err != nil {
			return err
		}
		return a.say(s.done, path, backup)
	}
}

// document is a host's file, and what it says. A fault says which file.
func document(h hosts.Host, path string) (hosts.File, hosts.Document, error) {
	f, err := hosts.Read(path)
	if err != nil {
		return f, hosts.Document{}, err
	}
	d, err := h.Parse(path, f.Text)
	if err != nil {
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

func (a *app) say(what, path, backup string) error {
	text := fmt.Sprintf("%s\n  file: %s\n", what, path)
	if backup != "" {
		text += fmt.Sprintf("  as it was: %s\n", backup)
	}
	_, err := io.WriteString(a.env.Stdout, text)
	return err
}
