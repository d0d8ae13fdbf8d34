package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/audit"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shared/transport"
)

// Verdict is the result of a check, in one word. Any other word, and none, is Bad.
type Verdict string

// The verdicts.
const (
	OK   Verdict = "ok"   // as it should be
	Warn Verdict = "warn" // works, and one should know
	Bad  Verdict = "bad"  // does not work, or does not protect as asked
)

// Check is one line of doctor.
type Check struct {
	Verdict Verdict `json:"verdict"`
	Subject string  `json:"subject"`       // a word or two: "audit log"
	Text    string  `json:"text"`          // how it is, in plain words
	Fix     string  `json:"fix,omitempty"` // how to get it right
}

// several is "1 event", "2 events".
func several(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// bad is the check that an error fails.
func bad(subject string, err error) Check {
	e := fault.From(err)
	return Check{Bad, subject, e.Msg, e.Do}
}

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
			var checks []Check
			if w.host == "" || w.host == "none" {
				checks = a.examine(c.Context())
			}
			checks = append(checks, a.registrations(c.Context(), w)...)
			outcome := error(nil)
			for i, c := range checks {
				if c.Verdict != OK && c.Verdict != Warn {
					checks[i].Verdict, outcome = Bad, errFailed
				}
			}
			if asJSON {
				return cmp.Or(writeJSON(a.env.Stdout, checks), outcome)
			}
			// Texts of a host's file and of what it starts are escaped, like all texts of others.
			var b strings.Builder
			for _, c := range checks {
				fmt.Fprintf(&b, "%-4s  %-12s  %s\n", c.Verdict, c.Subject, text.Escape(c.Text))
				if c.Fix != "" {
					fmt.Fprintf(&b, "%20s-> %s\n", "", text.Escape(c.Fix))
				}
			}
			_, err := io.WriteString(a.env.Stdout, b.String())
			return cmp.Or(err, outcome)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	c.Flags().StringVar(&w.host, "host", "", "only what this host has registered; none leaves all hosts out")
	c.Flags().StringVar(&w.name, "name", "", "only the entry of this name; without it, each that starts this server")
	c.Flags().BoolVar(&w.project, "project", false, "also start what the file of the project in the working directory names")
	return c
}

// examine looks at everything that serve would use. After a fault it continues, as far as
// the rest can be known.
func (a *app) examine(ctx context.Context) []Check {
	build := a.version().String()
	checks := []Check{{OK, "binary", build, ""}}
	if path, err := a.path(); err != nil {
		checks[0] = Check{Warn, "binary", build + "; the system does not say where it lies", ""}
	} else {
		checks[0].Text += ", " + path
	}

	set, err := a.load()
	if err != nil {
		return append(checks, bad("settings", err))
	}
	switch {
	case overHTTP(set):
		checks = append(checks, a.examineHTTP(ctx, set)...)
	case isTerminal(a.env.Stdin):
		checks = append(checks, Check{OK, "stdin", "is a terminal: a person is there, no host; serve would wait for messages", ""})
	default:
		checks = append(checks, Check{OK, "stdin", "is no terminal: serve would take messages from it", ""})
	}
	var given []string
	for _, f := range set.Flags() {
		if set.Given(f.Name) {
			given = append(given, f.Name+" ("+set.Source(f.Name)+")")
		}
	}
	if given == nil {
		checks = append(checks, Check{OK, "settings", "all as they are by default", ""})
	} else {
		checks = append(checks, Check{OK, "settings", "make sense; set are " + strings.Join(given, ", "), ""})
	}

	if !a.Pathless {
		for _, dir := range set.List("allow-path") {
			checks = append(checks, directory(dir, a.home()))
		}
		links := "are all refused"
		if set.Text("symlinks") == "within" {
			links = "are followed where they stay inside the allowed directories"
		}
		checks = append(checks, a.denied(set), Check{OK, "symlinks", links, ""})
	}
	checks = append(checks, a.offered(ctx, set)...)
	checks = append(checks, a.auditing(set)...)
	watched, rules := a.observed(ctx, set)
	checks = append(checks, watched...)

	switch mode := set.Text("restrict"); {
	case a.Runs:
		checks = append(checks, Check{OK, "restriction",
			"the server itself is not restricted, since commands would inherit it; the sandbox is for each command", ""})
	case mode == "off":
		checks = append(checks, Check{Warn, "restriction", "is off: a fault in the server could reach what its user can", "Leave --restrict out"})
	default:
		missing := Warn
		if mode == "required" {
			missing = Bad
		}
		rules.Accept = overHTTP(set)
		for _, p := range rules.Probe() {
			if p.Holds {
				checks = append(checks, Check{OK, p.Name, p.Why, ""})
			} else {
				checks = append(checks, Check{missing, p.Name, p.Why, p.Fix})
			}
		}
	}
	return checks
}

// examineHTTP looks at who can call, and how.
func (a *app) examineHTTP(ctx context.Context, set *settings.Set) []Check {
	p, err := httpSettings(set).Plan()
	if err != nil {
		return []Check{bad("http", err)}
	}

	address := Check{OK, "http", "listens on " + set.Text("listen") + ", which only this machine reaches", ""}
	if p.Exposed {
		address.Text = "listens on " + set.Text("listen") + ", which other machines may reach"
	}
	if names := slices.Concat(set.List("allow-host"), set.List("allow-origin")); len(names) > 0 {
		address.Text += "; it also goes by, or takes requests of pages of, " + strings.Join(names, ", ")
	}
	listener, err := transport.OpenHTTP(ctx, httpSettings(set))
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		address = Check{Warn, "http", address.Text + "; just now it cannot: " + fault.From(err).Msg,
			"Where that is not because this server runs already, name another address with --listen"}
	}

	clients := several(len(p.Clients), "client")
	tokens := Check{OK, "tokens", clients + " can call, each with a token: " + strings.Join(p.Clients, ", "), ""}
	switch {
	case a.Runs && len(p.Clients) > 1:
		tokens = Check{Warn, "tokens", clients + " (" + strings.Join(p.Clients, ", ") + ") share commands, terminals, outputs and restrictions",
			"Where they are not one person, give each a server of its own"}
	case len(p.Clients) == 0:
		tokens = Check{Warn, "tokens", "none is asked for: every program and every user of this machine can call",
			"Name a file of tokens with --token-file"}
	}

	tls := Check{OK, "tls", "none: requests do not leave this machine", ""}
	switch day := p.Expires.Format(time.DateOnly); {
	case p.Secure && time.Now().After(p.Expires):
		tls = Check{Bad, "tls", "the certificate has expired on " + day, "Renew it, and start the server again"}
	case p.Secure:
		tls.Text = "ends here; the certificate is good until " + day
	case set.Bool("behind-tls"):
		tls.Text = "ends before this server, as configured: nothing but what ends it may reach the address"
	}
	return []Check{address, tokens, tls}
}

// directory looks at an allowed directory. One that holds more than a person wants to share
// is worth a warning; links are resolved, since a link to / is as wide as /.
func directory(dir, home string) Check {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return Check{Bad, "directory", dir + ": " + fault.From(err).Msg, "Create it, or name another one with --allow-path"}
	case !info.IsDir():
		return Check{Bad, "directory", dir + " is no directory", "Name a directory with --allow-path"}
	}
	if err := readable(dir); err != nil {
		return unusable(dir, "read", err)
	}
	real, home := resolved(dir), resolved(home)
	why := ""
	switch {
	case filepath.Dir(real) == real:
		why = "the whole file system"
	case home == "":
	case real == home:
		why = "the whole home directory, with keys and passwords in it"
	case holds(real, home):
		why = "more than the whole home directory"
	}
	if why != "" {
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

// holds reports whether path is dir, or under it.
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
	if up := filepath.Dir(path); up != path { // a path that does not exist yet is where its directory is
		return filepath.Join(resolved(up), filepath.Base(path))
	}
	return filepath.Clean(path)
}

func (a *app) denied(set *settings.Set) Check {
	globs := set.List("deny-path")
	guarded := set.Bool("deny-secrets")
	switch {
	case a.Runs && len(globs) == 0 && !guarded:
		return Check{Verdict: OK, Subject: "deny rules",
			Text: "none: commands can read and change all that is beneath the allowed directories, .env files and keys too",
			Fix:  "Allow only directories that hold no secrets"}
	case a.Runs:
		return Check{Verdict: Warn, Subject: "deny rules",
			Text: "hold for the directories that calls name; commands can read and change what they deny all the same, secrets too",
			Fix:  "Allow only directories that hold no secrets"}
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

// offered opens the server and looks at what its tools do.
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
		{OK, "server", fmt.Sprintf("offers %s of the vocabulary %s", several(len(v.Tools), "tool"), v.Name), ""},
		{OK, aModel, a.reach(set, v.Tools, service.Spares, unheld), ""},
	}
	if unheld {
		checks[1].Verdict, checks[1].Fix = Warn, "See what doctor says of the sandbox"
	}
	if slices.ContainsFunc(v.Tools, func(t toolkit.Tool) bool { return t.Effect == toolkit.Writes }) && !a.Pathless && !a.Runs {
		for _, dir := range set.List("allow-path") {
			if readable(dir) != nil {
				continue // another check says so
			}
			if err := writable(dir); err != nil {
				checks = append(checks, unusable(dir, "write", err))
			}
		}
	}
	return append(checks, own...)
}

// aModel is the subject of the line about what a model can touch.
const aModel = "a model"

// secrets are what --deny-secrets denies.
const secrets = "secrets (.env files, keys, credential files)"

// reach says in plain words what a model can touch through these tools: what it
// can read and change, start, and connect to. Of the allowed directories it names those
// that this user was seen to reach. unheld says that commands are not held to them.
func (a *app) reach(set *settings.Set, tools []toolkit.Tool, refuses []string, unheld bool) string {
	has := func(e toolkit.Effect) bool {
		return slices.ContainsFunc(tools, func(t toolkit.Tool) bool { return t.Effect == e })
	}
	reads, writes, runs := has(toolkit.Reads), has(toolkit.Writes), has(toolkit.Runs)
	place := "what the server itself keeps or fetches, and no file by its path"
	if !a.Pathless {
		place = allowed(set, runs, writes && !runs)
	}
	changes := "change " + place
	if len(refuses) > 0 {
		changes += ", but never " + listed(refuses)
	}
	var can []string
	switch {
	case runs && unheld:
		can = append(can, "can start the programs that its policy allows, and through them read and change "+
			"all that this user can: the sandbox does not hold them")
	case runs:
		can = append(can, "can start the programs that its policy allows, and through them read and change "+place)
	case reads && writes:
		can = append(can, "can read and "+changes)
	case writes:
		can = append(can, "can "+changes)
	case reads:
		can = append(can, "can read "+place, "can change nothing")
	default:
		can = append(can, "can read and change nothing")
	}
	if !runs {
		can = append(can, "can start no program")
	}
	offline := slices.ContainsFunc(set.Flags(), func(f settings.Flag) bool {
		return f.Name == "network" && f.Kind == settings.Bool
	}) && !set.Bool("network")
	if !offline && slices.ContainsFunc(tools, func(t toolkit.Tool) bool { return t.OpenWorld }) {
		can = append(can, "can reach the network")
	} else {
		can = append(can, "cannot reach the network")
	}
	return strings.Join(can, "; ")
}

// allowed is what the settings, and the system, leave to the tools. Commands are restricted to
// directories, so that no deny rule applies to them.
func allowed(set *settings.Set, runs, writes bool) string {
	dirs := slices.DeleteFunc(slices.Clone(set.List("allow-path")), func(dir string) bool {
		return readable(dir) != nil || writes && writable(dir) != nil
	})
	if len(dirs) == 0 {
		return "nothing: this user cannot use the allowed directories"
	}
	words := "everything beneath " + listed(dirs)
	if runs {
		return words
	}
	except := set.List("deny-path")
	if set.Bool("deny-secrets") {
		except = append(except, secrets)
	}
	if len(except) > 0 {
		words += ", except " + listed(except)
	}
	return words
}

// listed is "a", "a and b", "a, b and c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// auditing opens the log as serve would, and verifies it.
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
	chain := Check{OK, "audit chain", "", ""}
	switch result, err := audit.Verify(file); {
	case err != nil:
		chain = bad("audit chain", err)
	case !result.OK():
		first := result.Broken[0]
		chain = Check{Bad, "audit chain", fmt.Sprintf("is broken in %s, first in %s: %s",
			several(len(result.Broken)+result.Omitted, "place"), first.File, first.Text),
			"See audit verify, keep the files, and find out who changed them"}
	default:
		chain.Text = "is whole: " + several(result.Events, "event")
	}
	return []Check{{OK, "audit log", file + " can be written", ""}, chain}
}

// observed looks at who else learns of calls, and what the process keeps for that.
func (a *app) observed(ctx context.Context, set *settings.Set) ([]Check, restrict.Rules) {
	var checks []Check
	for _, name := range set.List("audit-also") {
		r, err := openRelay(name, slog.New(slog.DiscardHandler))
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			checks = append(checks, bad("audit copy", err))
			continue
		}
		checks = append(checks, Check{OK, "audit copy", "goes to " + name +
			" after each event is stored; a copy that is lost refuses no call", ""})
	}
	to, err := a.collector(set)
	switch {
	case err != nil:
		return append(checks, bad("telemetry", err)), restrict.Rules{}
	case to == nil:
		return append(checks, Check{OK, "telemetry", "is off: nothing is sent to a collector", ""}), restrict.Rules{}
	}
	// The collector is sent a message with nothing in it.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	sent := Check{OK, "telemetry", "names of tools, codes, sizes and times of calls go to " + to.String(), ""}
	if err := to.Try(ctx); err != nil {
		sent = Check{Warn, "telemetry", sent.Text + ", which does not take them: " + err.Error(),
			"Start a collector there that takes OTLP over HTTP; calls do not wait for it"}
	} else if to.Open() {
		sent = Check{Warn, "telemetry", sent.Text + ", unencrypted", "Use https, or a collector on this machine"}
	}
	return append(checks, sent), observers{collector: to}.keep(restrict.Rules{})
}
