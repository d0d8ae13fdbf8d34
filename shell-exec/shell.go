package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
	"github.com/multiollama/mcp-server/shell-exec/internal/monitor"
	"github.com/multiollama/mcp-server/shell-exec/internal/output"
	"github.com/multiollama/mcp-server/shell-exec/internal/policy"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
	"github.com/multiollama/mcp-server/shell-exec/internal/terminal"
)

// shell is what every operation of this server works on: where commands may work, what
// checks them, what they get, and what runs them.
type shell struct {
	settings *settings.Set
	own      command.Own
	project  string // the name of this server's part of the state

	dirs    []string // the directories that the operator allows, absolute
	home    string
	limits  sessionLimits          // the directories, the policy and the limits that count now
	workdir atomic.Pointer[string] // the default working directory; nil: none was chosen
	shell   policy.Shell
	env     process.Environment

	sandbox *lazySandbox
	tempDir *process.TempDir // a private directory of commands, gone with the server
	temp    *confine.Grant   // the same
	cache   *confine.Grant   // another, which stays, of this project
	read    []*confine.Grant // what commands may read in addition
	hide    []*confine.Grant // the servers' state, where it is in what commands may use
	store   *output.Store
	runner  *process.Runner

	terminals *terminal.Sessions
	monitors  *monitor.Monitors
	machine   *monitor.System
	changed   func(uri string) // notifies those who subscribed

	unrestricted bool // checks saw that commands reach more than the allowed directories
}

// prepare is what needs nothing but the settings.
func (s *shell) prepare(dirs []string, scope *confine.Scope) error {
	s.dirs = dirs
	if s.project == "" {
		s.project = projectOf(dirs)
	}
	s.home, _ = os.UserHomeDir() // where there is none, nothing is below it
	if err := command.CheckUserID(s.settings.Text("user-id")); err != nil {
		return err
	}
	p, err := policyOf(s.settings)
	if err != nil {
		return err
	}
	agent, err := p.Limited("agent")
	if err != nil {
		return err
	}
	s.limits.current.Store(&limits{
		policy: p, agent: agent, scope: scope,
		time: s.settings.Duration("timeout"), memory: s.settings.Size("max-memory"), network: s.settings.Bool("network"),
	})
	if dir := s.settings.Text("workdir"); dir != "" && scope != nil {
		if dir, err = directory(context.Background(), scope, dir); err != nil {
			return fault.New(fault.Misconfigured, "the default working directory: "+fault.From(err).Msg,
				"Name a directory that is allowed with --workdir").Because(err)
		}
		s.workdir.Store(&dir)
	}
	s.shell = findShell()
	s.env = process.Environment{Server: os.Environ(), Pass: s.settings.List("pass-env")}
	return nil
}

// policyOf is the preset, or what the operator has written.
func policyOf(s *settings.Set) (*policy.Policy, error) {
	file := s.Text("policy")
	if file == "" {
		return policy.Preset(s.Text("preset"))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.New(fault.Misconfigured, "the policy cannot be read: "+fault.From(err).Msg, "Name another file with --policy").
			Because(err)
	}
	return policy.Load(string(text))
}

// findShell is bash where it is installed, else sh. A text is checked in the grammar of the one
// that will run it.
func findShell() policy.Shell {
	for _, c := range []struct {
		name    string
		grammar cmdline.Grammar
	}{{"bash", cmdline.Bash}, {"sh", cmdline.POSIX}} {
		if path, err := exec.LookPath(c.name); err == nil {
			return policy.Shell{Path: path, Grammar: c.grammar}
		}
	}
	return policy.Shell{}
}

// start makes what only a server at work needs: the sandbox, the store of outputs, and
// the runner, which finds detached jobs of before. A sandbox that is required was tried
// when it returns; else the first command waits for that.
func (s *shell) start(ctx context.Context) error {
	if err := s.stateApart(); err != nil {
		return err
	}
	s.openSandbox()
	if s.settings.Bool("login-path") {
		path, err := process.LoginPath(ctx, s.env.Server)
		if err != nil {
			return err
		}
		s.env.Path = path
	}
	if err := s.makeDirectories(); err != nil {
		return fault.From(err)
	}
	var err error
	if s.store, err = s.openStore(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fault.From(err)
	}
	s.runner, err = process.New(process.Config{
		Starter: s.sandbox, Store: s.store,
		Limits: process.Limits{Running: int(s.settings.Count("max-processes")), Time: s.settings.Duration("timeout")},
		Jobs:   s.jobs(), Project: s.project, Supervisor: append([]string{self, "supervise", "--project", s.project}, s.inherited()...),
	})
	s.terminals = terminal.New(terminal.Config{
		Starter: s.sandbox, Open: s.sandbox.Terminal, Store: s.store, Limit: s.settings.Count("max-terminals"),
	})
	s.monitors, s.machine = monitor.New(monitor.Limits{}), monitor.NewSystem(s.dirs)
	if err == nil && s.settings.Text("sandbox") == "required" {
		return s.sandbox.wait()
	}
	return err
}

// makeDirectories makes what commands write in addition to the workspace, points their tools
// there, and opens what they may read. The cache is the project's own, like its outputs:
// what a command of another project put there could run here.
func (s *shell) makeDirectories() (err error) {
	register := filepath.Join(s.own.State, "leases")
	go func() { _ = process.SweepTempDirs(register) }() // what stays is tried by the next start
	if s.tempDir, err = process.MakeTempDir(register, "mcp-shell-"); err != nil {
		return err
	}
	if s.temp, err = confine.OpenGrant(s.tempDir.Path, s.guarded()); err != nil {
		return err
	}

	// The cache is beside the state, which no command may reach. A link in its place would be granted to commands.
	caches, now := s.own.State+"-cache", time.Now()
	if err = command.CheckState(caches); err != nil {
		return err
	}
	cache := filepath.Join(caches, s.project)
	if err = errors.Join(os.MkdirAll(cache, 0o700), os.Chtimes(cache, now, now)); err != nil {
		return err
	}
	go func() { _ = process.RemoveUnused(caches, now.Add(-cacheLifetime)) }()
	if s.cache, err = confine.OpenGrant(cache, s.guarded()); err != nil {
		return err
	}

	// Where the servers' state is in a directory that commands may use, it is hidden from them.
	if s.own.Holding(slices.Concat(s.dirs, readable(s.settings))) != "" {
		state, err := confine.OpenGrant(s.own.State, s.guarded())
		if err != nil {
			return err
		}
		s.hide = append(s.hide, state)
	}
	for _, path := range s.settings.List("read-path") {
		g, err := confine.OpenGrant(path, s.guarded())
		if err != nil {
			return err
		}
		s.read = append(s.read, g)
	}

	s.env.Set = map[string]string{}
	for _, entry := range sandbox.ToolEnv(s.temp.Path(), s.cache.Path()) {
		name, value, _ := strings.Cut(entry, "=")
		s.env.Set[name] = value
	}
	return nil
}

// guarded are the directories in which commands may have put links.
func (s *shell) guarded() []string {
	var out []string
	for _, dir := range s.dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// cacheLifetime is how long a cache stays that no server was started for.
const cacheLifetime = 30 * 24 * time.Hour

// jobs is the directory of the detached jobs of all projects.
func (s *shell) jobs() string { return filepath.Join(s.own.State, "jobs") }

func (s *shell) openStore() (*output.Store, error) {
	limits := output.Limits{Stream: s.settings.Size("max-file-size"), Total: s.settings.Size("output-size")}
	return output.Open(filepath.Join(s.own.State, "outputs"), s.project, limits, time.Now)
}

// greetingTime is how long a client has to be greeted before the sandbox is tried beside it.
const greetingTime = 30 * time.Millisecond

// openSandbox is going to try the sandbox; what is required, at once.
func (s *shell) openSandbox() {
	mode := map[string]sandbox.Mode{"auto": sandbox.Auto, "required": sandbox.Required, "off": sandbox.Off}[s.settings.Text("sandbox")]
	o := sandbox.Options{Mode: mode, Level: s.settings.Count("sandbox-level"), Home: s.home, Guarded: s.guarded()}
	s.sandbox = newSandbox(o, greetingTime)
	if mode == sandbox.Required {
		s.sandbox.wanted()
	}
}

// close ends what runs, and gives back what start has made.
func (s *shell) close() error {
	var err error
	if s.monitors != nil {
		s.monitors.Close()
		s.machine.Close()
	}
	if s.terminals != nil {
		err = s.terminals.CloseAll()
	}
	if s.runner != nil {
		err = errors.Join(err, s.runner.Close())
	}
	if s.sandbox != nil {
		err = errors.Join(err, s.sandbox.Close())
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	if s.tempDir != nil {
		err = errors.Join(err, s.tempDir.Close())
	}
	return err
}
