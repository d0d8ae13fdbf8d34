package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	var w wanted
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what a model can touch, what protects the rest, and what is misconfigured",
		Long: "Say what a model can touch, what protects the rest, and what is misconfigured: with these\n" +
			"settings, and as hosts have this server registered, which is started as they would. With\n" +
			"--host it looks only at what that host has.",
		Args: a.noCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			checks := a.diagnose(c.Context(), w)
			write := func() error { return writeChecks(a.env.Stdout, checks) }
			if asJSON {
				write = func() error { return writeJSON(a.env.Stdout, checks) }
			}
			if err := write(); err != nil {
				return err
			}
			if slices.ContainsFunc(checks, func(c Check) bool { return c.Verdict != OK && c.Verdict != Warn }) {
				return errFailed
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	c.Flags().StringVar(&w.host, "host", "", "only what this host has registered; none leaves all hosts out")
	c.Flags().StringVar(&w.name, "name", "", "only the entry of this name; without it, each that starts this server")
	c.Flags().BoolVar(&w.project, "project", false, "also start what the file of the project in the working directory names")
	return c
}

// diagnose looks at this program with these settings, and at what hosts have.
func (a *app) diagnose(ctx context.Context, w wanted) []Check {
	if w.host != "" && w.host != "none" {
		return a.registrations(ctx, w)
	}
	return append(a.examine(ctx), a.registrations(ctx, w)...)
}

// examine looks at everything that serve would use. It goes on after a fault,
// as far as the rest can be known.
func (a *app) examine(ctx context.Context) []Check {
	checks := []Check{a.binary()}
	set, err := a.load()
	if err != nil {
		return append(checks, bad("settings", err))
	}
	checks = append(append(checks, a.reached(ctx, set)...), configured(set))
	if !a.Pathless {
		checks = append(checks, directories(set.List("allow-path"), a.home())...)
		checks = append(checks, a.denied(set), links(set))
	}
	checks = append(checks, a.offered(ctx, set)...)
	checks = append(checks, a.auditing(set)...)
	watched, keep := a.observed(ctx, set)
	keep.Accept = overHTTP(set)
	checks = append(checks, watched...)
	if a.Runs {
		return append(checks, Check{OK, "restriction", "the server itself is not restricted, since commands would inherit it; the sandbox is for each command", ""})
	}
	return append(checks, restrictions(set.Text("restrict"), keep.Probe())...)
}

// bad is the check that an error fails.
func bad(subject string, err error) Check {
	e := fault.From(err)
	return Check{Bad, subject, e.Msg, e.Do}
}

func (a *app) binary() Check {
	path, err := a.path()
	if err != nil {
		return Check{Warn, "binary", a.version().String() + "; the system does not say where it lies", ""}
	}
	return Check{OK, "binary", a.version().String() + ", " + path, ""}
}

func (a *app) stdin() Check {
	if isTerminal(a.env.Stdin) {
		return Check{OK, "stdin", "is a terminal: a person is there, no host; serve would wait for messages", ""}
	}
	return Check{OK, "stdin", "is no terminal: serve would take messages from it", ""}
}

func configured(set *settings.Set) Check {
	var given []string
	for _, f := range set.Flags() {
		if set.Given(f.Name) {
			given = append(given, f.Name+" ("+set.Source(f.Name)+")")
		}
	}
	if given == nil {
		return Check{OK, "settings", "all as they are by default", ""}
	}
	return Check{OK, "settings", "make sense; set are " + strings.Join(given, ", "), ""}
}

// directories looks at each allowed directory.
func directories(dirs []string, home string) []Check {
	checks := make([]Check, len(dirs))
	for i, dir := range dirs {
		checks[i] = directory(dir, home)
	}
	return checks
}

func directory(dir, home string) Check {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return Check{Bad, "directory", dir + ": " + fault.From(err).Msg, "Create it, or name another one with --allow-path"}
	case !info.IsDir():
		return Check{Verdict: Bad, Subject: "directory", Text: dir + " is no directory", Fix: "Name a directory with --allow-path"}
	}
	if err := readable(dir); err != nil {
		return unusable(dir, "read", err)
	}
	if why := tooWide(dir, home); why != "" {
		return Check{Warn, "directory", dir + " is allowed, and that is " + why, "Name only what is needed with --allow-path"}
	}
	return Check{OK, "directory", dir + " is allowed, with everything beneath it", ""}
}

func unusable(dir, how string, err error) Check {
	return Check{Verdict: Bad, Subject: "directory", Text: dir + " is allowed, and this user cannot " + how + " it: " + fault.From(err).Msg,
		Fix: "Give the user access to it, or name another one with --allow-path"}
}

// readable tries whether this user can list a directory, and reach what is in it.
func readable(dir string) error {
	if _, err := os.Stat(dir + string(filepath.Separator) + "."); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_, err = f.ReadDir(1)
	if err == io.EOF {
		err = nil // it is empty
	}
	return errors.Join(err, f.Close())
}

// tooWide says why dir holds more than a person wants to hand out. Links are
// resolved: a link to / is as wide as /.
func tooWide(dir, home string) string {
	dir = resolved(dir)
	home = resolved(home)
	switch {
	case filepath.Dir(dir) == dir:
		return "the whole file system"
	case home == "":
		return ""
	case dir == home:
		return "the whole home directory, with keys and passwords in it"
	}
	if holds(dir, home) {
		return "more than the whole home directory"
	}
	return ""
}

// holds says that path is dir, or lies beneath it.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func resolved(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path { // what is not there yet lies where its directory does
		return filepath.Join(resolved(up), filepath.Base(path))
	}
	return filepath.Clean(path)
}

func (a *app) denied(set *settings.Set) Check {
	globs := set.List("deny-path")
	guarded := set.Bool("deny-secrets")
	switch {
	case a.Runs && len(globs) == 0 && !guarded:
		return Check{Verdict: OK, Subject: "deny rules", Text: "none: commands can read and change all that is beneath the allowed directories, .env files and keys too",
			Fix: "Allow only directories that hold no secrets"}
	case a.Runs:
		return Check{Verdict: Warn, Subject: "deny rules", Text: "hold for the directories that calls name; commands can read and change what they deny all the same, secrets too",
			Fix: "Allow only directories that hold no secrets"}
	case len(globs) == 0 && !guarded:
		return Check{OK, "deny rules", "none: all that is beneath the allowed directories may be touched, .env files and keys too",
			"--deny-secrets keeps these out of reach"}
	case len(globs) == 0:
		return Check{OK, "deny rules", secrets, ""}
	case !guarded:
		return Check{OK, "deny rules", strings.Join(globs, ", "), "--deny-secrets adds .env files, keys and credential files"}
	}
	return Check{OK, "deny rules", strings.Join(globs, ", ") + ", and " + secrets, ""}
}

func links(set *settings.Set) Check {
	if set.Text("symlinks") == "within" {
		return Check{OK, "symlinks", "are followed where they stay inside the allowed directories", ""}
	}
	return Check{OK, "symlinks", "are all refused", ""}
}

// offered opens the server and says what its tools do.
func (a *app) offered(ctx context.Context, set *settings.Set) []Check {
	service, err := a.open(ctx, set)
	if err != nil {
		return []Check{bad("server", err)}
	}
	defer service.close()
	v := service.Vocabulary
	if len(v.Tools) == 0 {
		return []Check{{Bad, "server", "offers no tool", ""}}
	}
	var own []Check
	if service.Checks != nil {
		own = service.Checks()
	}
	unheld := service.Unheld != nil && service.Unheld()
	checks := []Check{
		{Verdict: OK, Subject: "server", Text: fmt.Sprintf("offers %s of the vocabulary %s", several(len(v.Tools), "tool"), v.Name)},
		{Verdict: OK, Subject: aModel, Text: a.reach(set, v.Tools, service.Spares, unheld)},
	}
	if unheld {
		checks[1].Verdict, checks[1].Fix = Warn, "See what doctor says of the sandbox"
	}
	if slices.ContainsFunc(v.Tools, func(t toolkit.Tool) bool { return t.Effect == toolkit.Writes }) && !a.Pathless && !a.Runs {
		checks = append(checks, unwritable(set.List("allow-path"))...)
	}
	return append(checks, own...)
}

// unwritable are the allowed directories in which nothing can be changed.
func unwritable(dirs []string) (checks []Check) {
	for _, dir := range dirs {
		if readable(dir) != nil {
			continue // that is told already
		}
		if err := writable(dir); err != nil {
			checks = append(checks, unusable(dir, "write", err))
		}
	}
	return checks
}

// aModel is the subject of the line about what a model can touch.
const aModel = "a model"

// auditing opens the log as serve would, and follows its chain.
func (a *app) auditing(set *settings.Set) []Check {
	switch word := set.Text("audit-log"); {
	case word == "off" && set.Bool("audit-required"):
		return []Check{{Bad, "audit log", "is off, and calls require it", "Leave --audit-log out, or write --audit-required=false"}}
	case word == "off":
		return []Check{{Warn, "audit log", "is off: nobody will know what was called", "Leave --audit-log out"}}
	case word == "stderr":
		return []Check{{OK, "audit log", "goes to stderr, where the host keeps it or does not", ""}}
	}
	file, err := a.auditFile(set, runtime.GOOS)
	if err != nil {
		return []Check{bad("audit log", err)}
	}
	log, err := audit.Open(file, audit.Options{Anchor: a.anchor(file)})
	if err != nil {
		return []Check{{Bad, "audit log", file + " cannot be written: " + fault.From(err).Msg, "Name another file with --audit-log"}}
	}
	if err := log.Close(); err != nil {
		return []Check{bad("audit log", err)}
	}
	return []Check{{OK, "audit log", file + " can be written", ""}, chain(file)}
}

func chain(file string) Check {
	result, err := audit.Verify(file)
	if err != nil {
		return bad("audit chain", err)
	}
	if !result.OK() {
		first := result.Broken[0]
		return Check{Bad, "audit chain", fmt.Sprintf("is broken in %s, first in %s: %s", several(len(result.Broken)+result.Omitted, "place"), first.File, first.Text),
			"See audit verify, keep the files, and find out who changed them"}
	}
	return Check{OK, "audit chain", "is whole: " + several(result.Events, "event"), ""}
}

// restrictions says what the kernel could take from the process.
func restrictions(mode string, parts restrict.Report) []Check {
	if mode == "off" {
		return []Check{{Warn, "restriction", "is off: a fault in the server could reach what its user can", "Leave --restrict out"}}
	}
	missing := Warn
	if mode == "required" {
		missing = Bad
	}
	checks := make([]Check, len(parts))
	for i, p := range parts {
		if checks[i] = (Check{OK, p.Name, p.Why, ""}); !p.Holds {
			checks[i] = Check{missing, p.Name, p.Why, p.Fix}
		}
	}
	return checks
}
