package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errFailed says that something went wrong which the screen has already shown.
var errFailed = errors.New("a call failed")

// host is connected to servers, each started when it is first needed.
type host struct {
	servers  []server
	sessions map[string]*mcp.ClientSession
	screen   *screen
	timeout  time.Duration // of one call, the server's start included
	calls    int           // so far; a call's number is its progress token
}

func newHost(servers []server, s *screen, timeout time.Duration) *host {
	return &host{servers: servers, sessions: map[string]*mcp.ClientSession{}, screen: s, timeout: timeout}
}

// close ends every server: its input first, as the protocol asks, and by force
// if it does not go.
func (h *host) close() {
	for _, session := range h.sessions {
		_ = session.Close()
	}
}

// session is the connection to a server, made now if there is none.
func (h *host) session(ctx context.Context, name string) (*mcp.ClientSession, error) {
	if session, ok := h.sessions[name]; ok {
		return session, nil
	}
	for _, s := range h.servers {
		if s.Name == name {
			session, err := h.connect(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s does not start: %w", name, err)
			}
			h.sessions[name] = session
			return session, nil
		}
	}
	return nil, fmt.Errorf("no server is named %q; %w", name, errUsage)
}

func (h *host) connect(ctx context.Context, s server) (*mcp.ClientSession, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir = s.Dir
	cmd.Env = os.Environ()
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = h.screen.diagnostics(s.Name)
	client := mcp.NewClient(&mcp.Implementation{Name: "example-host", Version: "1"}, &mcp.ClientOptions{
		Capabilities:       &mcp.ClientCapabilities{}, // no roots: what a server may touch stands in its arguments
		ElicitationHandler: h.screen.ask,
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			h.screen.progress(r.Params)
		},
	})
	return client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
}

// listAll shows the tools of every server. One that does not start is shown as
// such, and the others are listed all the same.
func (h *host) listAll(ctx context.Context) error {
	var failure error
	for _, s := range h.servers {
		if err := h.list(ctx, s.Name); err != nil {
			h.screen.failure(err.Error())
			failure = errFailed
		}
	}
	return failure
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

// call calls a tool and shows what is asked and answered.
func (h *host) call(ctx context.Context, server, tool, arguments string) error {
	h.screen.question(server, tool, arguments)
	result, err := h.result(ctx, server, tool, arguments)
	if err != nil {
		return err
	}
	h.screen.answer(result)
	if result.IsError {
		return errFailed
	}
	return nil
}

func (h *host) result(ctx context.Context, server, tool, arguments string) (*mcp.CallToolResult, error) {
	object, err := parseArguments(arguments)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	session, err := h.session(ctx, server)
	if err != nil {
		return nil, err
	}
	h.calls++
	params := &mcp.CallToolParams{Name: tool, Arguments: object}
	params.SetProgressToken(h.calls)
	return session.CallTool(ctx, params)
}
