// Package command is the command line that every server has: serve, tools,
// call, doctor, install, uninstall, config, audit, version, completion.
//
// It refuses to decide about a request: it reads the settings, opens what the
// server may touch, gives up the rest, and hands over to the server's tools. What
// serves never writes a host's configuration: install and uninstall are runs of
// their own, for the user who typed them. Only the output that was asked for goes to
// stdout; everything else goes to stderr.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/restrict"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// Program is a server as its command line sees it.
type Program struct {
	Name    string // of the binary, the audit log and the variables: "file-read"
	Title   string // for people
	Doc     string // one or more sentences for the help
	Version string // empty: as the build says
	// Flags are the server's own. A row with the name of a common one replaces
	// it; the other common ones are always there.
	Flags []settings.Flag
	// Open opens what the settings name. What it gives is closed at the end.
	Open func(context.Context, *settings.Set, Own) (*Service, error)
	// Defaults, where not nil, changes defaults by what is already known, the
	// vocabulary above all. It runs after the settings are loaded.
	Defaults func(*settings.Set)
	// Runs says that the server starts commands, each restricted for itself: the
	// server is not, for they would inherit it.
	Runs bool
	// Readable, where not nil, are directories that what it starts can read besides the
	// allowed ones.
	Readable func(*settings.Set) []string
	// Pathless says that no tool takes a path of a client: there are no flags about
	// directories.
	Pathless bool
	// Verbs are further commands of this server alone.
	Verbs []Verb
	// MaxMessage is the bytes of one message of a host, and of the arguments on
	// the stdin of call; 0 is 16 MiB.
	MaxMessage int
}

// Own is what belongs to the program itself rather than to what it serves.
type Own struct {
	State string   // directory where the servers keep what outlasts them; it need not exist; empty: none
	Files []string // globs of what no tool may reach: that directory, the audit log, the configuration, tokens and key

	settings []string // of these the files that the settings name
}

// Service is a server that is open and not yet serving.
type Service struct {
	Roots        *confine.Roots     // closed at the end; nil where the server touches no files
	Vocabularies []Vocabulary       // all there are
	Vocabulary   toolkit.Vocabulary // the one that is offered; without a name it is picked from the others
	Resources    *toolkit.Resources // nil: none
	Instructions string             // for the model
	Restrict     restrict.Rules     // what the process needs from now on; the audit log is added
	Checks       func() []Check     // the server's own lines of doctor; nil: none
	Spares       []string           // what no tool changes, in plain words for doctor
	Unheld       func() bool        // whether Checks saw that commands reach more than the allowed directories

	// Start opens what only a server at work needs, before the process is
	// restricted; nil: nothing. Close gives it back, after Roots.
	Start func(context.Context) error
	Close func() error
}

// Vocabulary is a [toolkit.Vocabulary] whose tools are made when it is the one that
// is wanted: the schemas of all of them would be a third of what a start takes.
type Vocabulary struct {
	Name, Doc     string
	FailurePrefix string
	Tools         func() []toolkit.Tool
}

// Make makes its tools.
func (v Vocabulary) Make() toolkit.Vocabulary {
	return toolkit.Vocabulary{Name: v.Name, Doc: v.Doc, FailurePrefix: v.FailurePrefix, Tools: v.Tools()}
}

// Environment is what a program gets from the system.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // as os.Environ has it
	Executable     string   // absolute path of the binary; empty: ask the system

	restrict func(restrict.Rules) (restrict.Report, error) // nil: restrict.Self, which cannot be undone
	limit    time.Duration                                 // of a registered server that doctor starts; 0: 10 s
}

// Process is the environment of this process.
func Process() Environment {
	return Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ()}
}

// Run does what args say and gives the exit code: 0 for success, 1 for a
// failure, 2 for a fault of the configuration or of the command line itself.
// args do not hold the name of the program.
func Run(ctx context.Context, p Program, args []string, env Environment) int {
	a := &app{Program: p, env: env, set: settings.New(p.Name, p.Settings()...)}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would read os.Args
	code := a.report(root.ExecuteContext(ctx))
	if log, ok := a.env.Stderr.(*unread); ok {
		log.flush()
	}
	return code
}

// Settings are all flags of the program, in the order of its help.
func (p Program) Settings() []settings.Flag {
	common := slices.DeleteFunc(settings.Common(), func(f settings.Flag) bool {
		return slices.ContainsFunc(p.Flags, func(own settings.Flag) bool { return own.Name == f.Name })
	})
	all := append(common, p.Flags...)
	if p.Pathless {
		all = slices.DeleteFunc(all, func(f settings.Flag) bool { return slices.Contains(pathFlags, f.Name) })
	}
	return all
}

// pathFlags are the common flags about the paths of clients.
var pathFlags = []string{"allow-path", "deny-path", "deny-secrets", "symlinks", "follow-roots", "hide-paths"}

// app is one run of a program.
type app struct {
	Program
	env Environment
	set *settings.Set
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   a.Name,
		Short: a.Title,
		Long: a.Title + "\n\n" + a.Doc + "\n\n" +
			"Without a command it serves MCP on stdin and stdout, or over HTTP (--transport http).",
		Version:       a.version().Version,
		Args:          a.noCommand,
		RunE:          a.serve,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(a.env.Stdin)
	root.SetOut(a.env.Stdout)
	root.SetErr(a.env.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().SortFlags = false // the table has an order with a reason
	root.Flags().SortFlags = false
	a.set.Bind(root.PersistentFlags())
	root.AddCommand(a.serveCommand(), a.toolsCommand(), a.callCommand(), a.doctorCommand(),
		a.installCommand(), a.uninstallCommand(), a.configCommand(), a.auditCommand(), a.versionCommand(), a.describeCommand())
	for _, v := range a.Verbs {
		root.AddCommand(a.verb(v))
	}
	// cobra's own command prints its help for a shell that it does not know, and calls that success.
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = a.noCommand, help
		}
	}
	return root
}

// help is what a command does that only has others below it.
func help(c *cobra.Command, _ []string) error { return c.Help() }

// load gives the checked settings, with the defaults that depend on them.
func (a *app) load() (*settings.Set, error) {
	if err := a.set.Load(a.env.Environ); err != nil {
		return nil, err
	}
	if a.Defaults != nil {
		a.Defaults(a.set)
	}
	return a.set, a.fitting(a.set)
}

// exited ends a run with an exit code, when what there is to say has been said.
type exited int

func (e exited) Error() string { return fmt.Sprint("exit code ", int(e)) }

const errFailed exited = 1

// report says what went wrong and gives the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exited](err); ok {
		return int(code)
	}
	e := fault.From(err)
	fmt.Fprintln(a.env.Stderr, e.Error())
	if e.Err != nil {
		fmt.Fprintln(a.env.Stderr, "  cause:", e.Err) // for the person at the keyboard, who owns this machine
	}
	if e.Code == fault.Misconfigured {
		return 2
	}
	return 1
}

// open is the service that set asks for, with its vocabulary picked.
func (a *app) open(ctx context.Context, set *settings.Set) (*Service, error) {
	own := a.own(set)
	if err := CheckState(own.State); err != nil {
		return nil, err
	}
	service, err := a.Open(ctx, set, own)
	if err != nil || service.Vocabulary.Name != "" {
		return service, err
	}
	name := set.Text("vocabulary")
	var names []string
	for _, v := range service.Vocabularies {
		names = append(names, v.Name)
	}
	if i := slices.Index(names, name); i >= 0 {
		service.Vocabulary, err = service.Vocabularies[i].Make().Narrow(set.List("toolsets"))
	} else {
		err = misused(fmt.Sprintf("there is no vocabulary %s (%s)", name, set.Source("vocabulary")), name, names)
	}
	if err != nil {
		return nil, errors.Join(err, service.close())
	}
	return service, nil
}

// close gives back what the service holds.
func (s *Service) close() error {
	var err error
	if s.Roots != nil {
		err = s.Roots.Close()
	}
	if s.Close != nil {
		err = errors.Join(err, s.Close())
	}
	return err
}
