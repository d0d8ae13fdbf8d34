// Host is a small MCP host: it reads the configuration files that hosts use,
// starts the servers in it, and lets a person list and call their tools, one by
// one or from a script.
//
// It holds no model and decides nothing: what is called is what the person
// wrote. It refuses to speak for the person, too: a server that asks for
// confirmation is declined when nobody is at the terminal.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = `Usage:
  host --config FILE tools                        list the tools of every server
  host --config FILE call SERVER TOOL ['{JSON}']  call one of them
  host --config FILE run SCRIPT                   go through a script ("-": standard input)

A script has a call a line: SERVER TOOL {JSON}. A line with ! before it has to be
refused, a line with a server alone lists its tools, and # starts a heading.

Flags:
`

// How the program ends.
const (
	succeeded     = 0
	failed        = 1 // a tool failed, or something else than expected came of a call
	misconfigured = 2 // the command line or the configuration
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	w := world{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv}
	code := run(ctx, os.Args[1:], w)
	stop()
	os.Exit(code)
}

// world is everything outside the program.
type world struct {
	in       io.Reader
	out, err io.Writer
	lookup   func(string) (string, bool) // environment variables
}

// errUsage marks mistakes in what the person asked for.
var errUsage = errors.New("see host --help")

func run(ctx context.Context, args []string, w world) int {
	err := runCommand(ctx, args, w)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return succeeded
	case errors.Is(err, errFailed):
		return failed // the screen has shown it
	}
	fmt.Fprintln(w.err, "host:", err)
	if errors.Is(err, errUsage) || errors.Is(err, errConfig) {
		return misconfigured
	}
	return failed
}

func runCommand(ctx context.Context, args []string, w world) error {
	flags := flag.NewFlagSet("host", flag.ContinueOnError)
	flags.SetOutput(w.err)
	flags.Usage = func() { fmt.Fprint(w.err, usage); flags.PrintDefaults() }
	config := flags.String("config", "mcp-config.json", "the configuration `FILE`, in any of the forms hosts use")
	timeout := flags.Duration("timeout", time.Minute, "how long one call may take")
	lines := flags.Int("lines", 40, "lines of an answer that are shown; 0 for all")
	if err := flags.Parse(args); err != nil {
		return errors.Join(err, errUsage)
	}
	servers, err := readConfig(*config, w.lookup)
	if err != nil {
		return err
	}
	h := newHost(servers, newScreen(w, *lines), *timeout)
	defer h.close()
	return h.do(ctx, flags.Args(), w.in)
}

// do carries out what stands on the command line after the flags.
func (h *host) do(ctx context.Context, args []string, in io.Reader) error {
	command, args := first(args)
	switch {
	case command == "tools" && len(args) == 0:
		return h.listAll(ctx)
	case command == "call" && (len(args) == 2 || len(args) == 3):
		server, args := first(args)
		tool, args := first(args)
		arguments, _ := first(args)
		return h.call(ctx, server, tool, arguments)
	case command == "run" && len(args) == 1:
		return h.runFile(ctx, args[0], in)
	}
	return fmt.Errorf("no such command: %q; %w", append([]string{command}, args...), errUsage)
}

// first takes the first of list away; it is "" where there is none.
func first(list []string) (string, []string) {
	if len(list) == 0 {
		return "", nil
	}
	return list[0], list[1:]
}

// parseArguments reads a call's arguments; none at all are an empty object.
func parseArguments(text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(text), &arguments); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w: %w", err, errUsage)
	}
	return arguments, nil
}
