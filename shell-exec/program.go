package main

import (
	"context"
	"slices"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/settings"

	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// program is what the command line makes this server of.
func program() command.Program {
	return command.Program{
		Name:     "shell-exec",
		Title:    "Run commands",
		Doc:      "An MCP server that runs commands in the directories you allow, each judged by a policy and inside a sandbox.",
		Version:  version,
		Flags:    flags(),
		Open:     open,
		Runs:     true,
		Readable: readable,
		Verbs:    verbs(),
		Defaults: func(s *settings.Set) { // for those who set nothing else
			if s.Text("vocabulary") == "agent" { // document 004
				s.SetDefault("rate-limit", "10/1m")
				s.SetDefault("hide-paths", "true")
			}
		},
	}
}

func flags() []settings.Flag {
	// Document 003 gives the common flag a variable of its own.
	common := settings.Common()
	allowPath := common[slices.IndexFunc(common, func(f settings.Flag) bool { return f.Name == "allow-path" })]
	allowPath.Variable = "MCP_SHELL_ALLOWED_WORKDIRS"
	return []settings.Flag{
		allowPath,
		{Name: "deny-path", Kind: settings.Globs, Doc: "directories that calls may not name; commands can read and change them all the same"},
		{Name: "deny-secrets", Kind: settings.Bool, Default: "false",
			Doc: "the same for where secrets usually are; commands can read them all the same"},
		{Name: "audit-required", Kind: settings.Bool, Default: "true", Doc: "refuse a call whose audit event cannot be stored"},
		{Name: "restrict", Kind: settings.Choice, Choices: []string{"off"}, Default: "off",
			Doc: "commands are restricted one by one, see --sandbox; the server that starts them is not"},
		{Name: "preset", Kind: settings.Choice, Choices: []string{"development", "production", "sandbox", "minimal"}, Default: "development",
			Doc: "what the policy says to each effect that a command has"},
		{Name: "policy", Kind: settings.Text, Dir: true, Doc: "a TOML file with a preset, effects and rules of your own"},
		{Name: "ask", Kind: settings.Choice, Choices: []string{"elicit", "deny"}, Default: "elicit",
			Doc: "what happens to a command that needs consent: the person is asked through the host, or it is refused"},
		{Name: "sandbox", Kind: settings.Choice, Choices: []string{"auto", "required", "off"}, Default: "auto",
			Doc: "restrict commands by means of the kernel: as far as this machine can, or do not start where doctor would warn"},
		{Name: "sandbox-level", Kind: settings.Count, Default: "2", Min: 1, Max: 2,
			Doc: "2 runs commands in namespaces of their own too, where the machine allows; 1 does not"},
		{Name: "read-path", Kind: settings.List, Dir: true, Doc: "a directory that commands may read besides"},
		{Name: "allow-socket", Kind: settings.List, Dir: true,
			Doc: "a local socket of another program that commands may connect to; a container service or an agent is then theirs to use"},
		{Name: "network", Kind: settings.Bool, Default: "true", Doc: "commands may open connections"},
		{Name: "pass-env", Kind: settings.List,
			Doc: "variables of this server that commands get besides the usual ones; a * stands for any part"},
		{Name: "login-path", Kind: settings.Bool, Default: "false", Doc: "take PATH from the person's login shell"},
		{Name: "workdir", Kind: settings.Text, Dir: true, Variable: "MCP_SHELL_DEFAULT_WORKDIR",
			Doc: "where commands work that name no directory; without one, the first allowed directory"},
		{Name: "timeout", Kind: settings.Duration, Default: "300s", Doc: "the longest that a command may take, detached ones aside"},
		{Name: "max-processes", Kind: settings.Count, Default: "50", Min: 1, Max: 1000, Doc: "commands that run at once"},
		{Name: "max-terminals", Kind: settings.Count, Default: "20", Min: 1, Max: 1000, Doc: "terminals that are open at once"},
		{Name: "max-memory", Kind: settings.Size, Default: "1GiB", Min: 16 << 20, Doc: "memory of one command with all it starts"},
		{Name: "max-file-size", Kind: settings.Size, Default: "100MiB", Min: 1 << 20,
			Doc: "size of a file that a command writes, and of each kept output"},
		{Name: "output-size", Kind: settings.Size, Default: "1GiB", Min: 1 << 20,
			Doc: "bytes of output that are kept in all; the oldest go first"},
		{Name: "user-id", Kind: settings.Text, Default: "default",
			Doc: "the ID of the folder in which bash of the vocabulary agent works: letters, digits, - and _"},
	}
}

// readable is what commands can read in addition to the allowed directories.
func readable(s *settings.Set) []string { return append(sandbox.SystemPaths(), s.List("read-path")...) }

func open(_ context.Context, s *settings.Set, own command.Own) (*command.Service, error) {
	if own.State == "" {
		return nil, fault.New(fault.Misconfigured, "there is no home directory to keep outputs in", "Set HOME or XDG_STATE_HOME")
	}
	roots, scope, err := command.OpenDirectories(s, own.Files, false)
	if err != nil {
		return nil, err
	}
	sh := &shell{settings: s, own: own}
	if err := sh.prepare(roots.Dirs(), scope); err != nil {
		_ = roots.Close() // the error that counts is the other
		return nil, err
	}
	return &command.Service{
		Roots:        roots,
		Vocabularies: vocabularies(sh),
		Resources:    sh.resources(),
		Instructions: "Runs commands without a terminal: stdin is empty, nothing can ask. A command that is not done after a while goes on; " +
			"process_get_execution waits for it. What an answer leaves out is kept under its output_id.",
		Checks: sh.checks,
		Unheld: func() bool { return sh.unrestricted },
		Start:  sh.start,
		Close:  sh.close,
	}, nil
}
