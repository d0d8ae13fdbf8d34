package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

// The vocabulary of document 004.

var agentSpec = toolkit.Spec{
	Name: "bash", Title: "Run a command", Toolset: "shell", Effect: toolkit.Runs, Destructive: true, OpenWorld: true,
	Doc: "Run a shell command in the output folder. Without command substitution, eval, exec, sudo, su, base64 -d.",
}

type agentIn struct {
	Command string `json:"command" doc:"Shell command line."`
	Timeout int    `json:"timeout,omitempty" default:"30" min:"1" max:"60" doc:"Seconds."`
}

// agentOut is how FastMCP answers a function that returns str.
type agentOut struct {
	Result string `json:"result"`
}

// Text is the string itself.
func (o agentOut) Text() string { return o.Result }

func (s *shell) agent(ctx context.Context, in agentIn) (agentOut, error) {
	// It works in output/DATE/user_ID in the first allowed directory, made where it is missing, through no link.
	w, err := s.workspace(ctx, s.limits.now(), "")
	if err != nil {
		return agentOut{}, err
	}
	root, err := os.OpenRoot(w.dirs[0])
	if err != nil {
		return agentOut{}, fault.From(err)
	}
	folder := command.UserFolder(time.Now(), s.settings.Text("user-id"))
	err = root.MkdirAll(folder, 0o755)
	_ = root.Close()
	if err != nil {
		return agentOut{}, fault.From(err)
	}

	r, err := s.run(ctx, request{text: in.Command, dir: filepath.Join(w.dirs[0], folder), agent: true},
		process.Request{Text: in.Command, Mode: process.Foreground, Timeout: time.Duration(in.Timeout) * time.Second})
	if err != nil {
		return agentOut{}, err
	}
	b := outputText(r.Stdout.Text(), r.Stderr.Text())
	if r.State == process.TimedOut {
		fmt.Fprintf(b, "[timed out after %d seconds]\n", in.Timeout)
	} else if r.Code != 0 {
		fmt.Fprintf(b, "[exit code %d]\n", r.Code)
	}
	if r.Lingering {
		b.WriteString("[" + stillRunning(r) + "]\n")
	}
	return agentOut{b.String()}, exceeded(r)
}
