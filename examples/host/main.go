// Host is a small MCP host: it reads the configuration files that hosts use,
// starts the servers in it, and lets a person list and call their tools, one by
// one or from a script.
//
// It holds no model and decides nothing: what is called is what the person
// wrote. It never speaks for the person either: a server that asks for
// confirmation is declined when nobody is at the terminal.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const usage = `Usage:
  host --config FILE tools                        list the tools of every server
  host --config FILE call SERVER TOOL ['{JSON}']  call one of them
  host --config FILE run SCRIPT                   go through a script ("-": standard input)

A script has a call a line: SERVER TOOL {JSON}. A line with ! before it has to be
refused, a line with a server alone lists its tools, and # starts a heading.

Flags:
`

// streams is everything outside the program.
type streams struct {
	in       io.Reader
	out, err io.Writer
	lookup   func(string) (string, bool) // environment variables
}

var (
	errUsage  = errors.New("see host --help") // marks mistakes in what the person asked for
	errFailed = errors.New("a call failed")   // which the screen has already shown
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	w := streams{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv}
	err := run(ctx, os.Args[1:], w)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, errFailed):
		os.Exit(1)
	}
	fmt.Fprintln(w.err, "host:", err)
	if errors.Is(err, errUsage) || errors.Is(err, errConfig) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(ctx context.Context, args []string, w streams) error {
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
	h := &host{servers: servers, sessions: map[string]*mcp.ClientSession{}, screen: newScreen(w, *lines), timeout: *timeout}
	defer func() { // a server's input ends first, as the protocol asks, and it is killed if it does not exit
		for _, session := range h.sessions {
			_ = session.Close()
		}
	}()

	command, args := flags.Arg(0), slices.Concat(flags.Args(), []string{"", "", ""})[1:]
	switch {
	case command == "tools" && flags.NArg() == 1:
		// A server that does not start is shown as such, and the others are listed all the same.
		var failure error
		for _, s := range h.servers {
			if err := h.list(ctx, s.Name); err != nil {
				h.screen.failure(err.Error())
				failure = errFailed
			}
		}
		return failure
	case command == "call" && (flags.NArg() == 3 || flags.NArg() == 4):
		return h.call(ctx, args[0], args[1], args[2])
	case command == "run" && flags.NArg() == 2:
		if args[0] == "-" {
			return h.script(ctx, w.in)
		}
		f, err := os.Open(args[0])
		if err != nil {
			return fmt.Errorf("%w; %w", err, errUsage)
		}
		defer f.Close()
		return h.script(ctx, f)
	}
	return fmt.Errorf("no such command: %q; %w", append([]string{command}, args[:max(0, flags.NArg()-1)]...), errUsage)
}

// host is connected to servers, each started when it is first needed.
type host struct {
	servers  []server
	sessions map[string]*mcp.ClientSession
	screen   *screen
	timeout  time.Duration // of one call, the server's start included
	calls    int           // so far; a call's number is its progress token
}

// session is the connection to a server, made now if there is none.
func (h *host) session(ctx context.Context, name string) (*mcp.ClientSession, error) {
	if session, ok := h.sessions[name]; ok {
		return session, nil
	}
	for _, s := range h.servers {
		if s.Name != name {
			continue
		}
		cmd := exec.Command(s.Command, s.Args...)
		cmd.Dir = s.Dir
		cmd.Env = os.Environ()
		for name, value := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Stderr = &prefixed{screen: h.screen, prefix: name}
		client := mcp.NewClient(&mcp.Implementation{Name: "example-host", Version: "1"}, &mcp.ClientOptions{
			Capabilities:       &mcp.ClientCapabilities{}, // no roots: what a server may access is in its arguments
			ElicitationHandler: h.screen.ask,
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				h.screen.progress(r.Params)
			},
		})
		session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			return nil, fmt.Errorf("%s does not start: %w", name, err)
		}
		h.sessions[name] = session
		return session, nil
	}
	return nil, fmt.Errorf("no server is named %q; %w", name, errUsage)
}

// list shows the tools of one server.
func (h *host) list(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	session, err := h.session(ctx, name)
	if err != nil {
		return err
	}
	var tools []*mcp.Tool
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("%s does not list its tools: %w", name, err)
		}
		tools = append(tools, tool)
	}
	h.screen.tools(name, session.InitializeResult(), tools)
	return nil
}

// call calls a tool and shows the arguments and the result.
func (h *host) call(ctx context.Context, server, tool, arguments string) error {
	h.screen.question(server, tool, arguments)
	object := map[string]any{}
	if arguments != "" {
		object = nil
		if err := json.Unmarshal([]byte(arguments), &object); err != nil {
			return fmt.Errorf("the arguments are not a JSON object: %w: %w", err, errUsage)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	session, err := h.session(ctx, server)
	if err != nil {
		return err
	}
	h.calls++
	params := &mcp.CallToolParams{Name: tool, Arguments: object}
	params.SetProgressToken(h.calls)
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return err
	}
	h.screen.answer(result)
	if result.IsError {
		return errFailed
	}
	return nil
}

// script goes through a script to its end, even when a call fails, unless a
// line cannot be carried out at all.
func (h *host) script(ctx context.Context, script io.Reader) error {
	const maxLine = 1 << 20
	var failure error
	lines := bufio.NewScanner(script)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		switch err := h.line(ctx, strings.TrimSpace(lines.Text())); {
		case errors.Is(err, errFailed):
			failure = err
		case err != nil:
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return errors.Join(failure, lines.Err())
}

func (h *host) line(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	if heading, ok := strings.CutPrefix(line, "#"); ok {
		h.screen.heading(strings.TrimSpace(heading))
		return nil
	}
	line, mustFail := strings.CutPrefix(line, "!")
	server, rest, isCall := strings.Cut(strings.TrimSpace(line), " ")
	if !isCall && !mustFail {
		return h.list(ctx, server)
	}
	tool, arguments, _ := strings.Cut(strings.TrimSpace(rest), " ")
	err := h.call(ctx, server, tool, strings.TrimSpace(arguments))
	switch {
	case mustFail && errors.Is(err, errFailed):
		h.screen.print("  " + h.screen.paint(green, "refused, as it should be"))
		return nil
	case mustFail && err == nil:
		h.screen.failure("this should have been refused")
		return errFailed
	}
	return err
}
