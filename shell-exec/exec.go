package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

var execSpec = toolkit.Spec{
	Name: "shell_exec", Title: "Run a command", Toolset: "exec", Effect: toolkit.Runs, Destructive: true, OpenWorld: true,
	Doc: "Run a command to its end: a shell command line, or with args a program without a shell. " +
		"A command that exits with another code than 0 is no error.",
}

type execIn struct {
	Command string   `json:"command" doc:"Shell command line; with args, a program."`
	Args    []string `json:"args,omitempty" doc:"Arguments, each as it is."`
	Dir     string   `json:"cwd,omitempty" path:"read" doc:"Working directory."`
}

type execOut struct {
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ExitCode  int    `json:"exitCode"`
	Signal    string `json:"signal,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	OutputID  string `json:"outputId,omitempty" doc:"For read_execution_output."`
	TimedOut  bool   `json:"timedOut,omitempty"`
	Message   string `json:"message,omitempty"`
}

func (s *shell) exec(ctx context.Context, in execIn) (execOut, error) {
	r, shown := request{text: in.Command, dir: in.Dir}, in.Command
	if len(in.Args) > 0 {
		r = request{argv: append([]string{in.Command}, in.Args...), dir: in.Dir}
		for _, a := range in.Args {
			shown += fmt.Sprintf(" %q", a)
		}
	}
	p, err := s.approve(ctx, r)
	if err != nil {
		return execOut{}, err
	}
	q := p.request(shown)
	q.Mode, q.Timeout, q.Progress = process.Foreground, s.settings.Duration("timeout"), progress(ctx)
	done, err := s.runner.Run(ctx, q)
	if err != nil {
		return execOut{}, err
	}
	out := execOut{
		Stdout: done.Stdout.Text(), Stderr: done.Stderr.Text(), ExitCode: done.Code, Signal: done.Signal,
		Truncated: done.Stdout.Omitted+done.Stderr.Omitted > 0, TimedOut: done.State == process.TimedOut, Message: stillRunning(done),
	}
	if out.Truncated || out.TimedOut {
		out.OutputID = done.OutputID
	}
	return out, exceeded(done)
}

// progress sends a client that wants it the newest lines.
func progress(ctx context.Context) func(process.Progress) {
	return func(p process.Progress) {
		toolkit.Progress(ctx, float64(p.Bytes), 0, strings.Join(p.Lines, "\n"))
	}
}

// Text is what was written, and how it ended.
func (o execOut) Text() string {
	b := outputText(o.Stdout, o.Stderr)
	note := fmt.Sprintf("[exit code %d", o.ExitCode)
	if o.Signal != "" {
		note += ", " + o.Signal
	}
	if o.TimedOut {
		note += ", timed out"
	}
	if o.OutputID != "" {
		note += ", all of it: read_execution_output " + o.OutputID
	}
	b.WriteString(note + "]\n")
	if o.Message != "" {
		b.WriteString(o.Message + "\n")
	}
	return b.String()
}

// outputText begins a text with what a command wrote. It has room for notes: a long output is copied once.
func outputText(stdout, stderr string) *strings.Builder {
	b := &strings.Builder{}
	b.Grow(len(stdout) + len(stderr) + 256)
	lines := func(text string) {
		b.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteByte('\n')
		}
	}
	lines(stdout)
	if stderr != "" {
		b.WriteString("[stderr]\n")
		lines(stderr)
	}
	return b
}
