package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
)

var execSpec = toolkit.Spec{
	Name:        "shell_exec",
	Title:       "Run a command",
	Doc:         "Run a command to its end: a shell command line, or with args a program without a shell. A command that exits with another code than 0 is no error.",
	Toolset:     "exec",
	Effect:      toolkit.Runs,
	Destructive: true,
	OpenWorld:   true,
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
	w := wish{text: in.Command, dir: in.Dir}
	if len(in.Args) > 0 {
		w = wish{argv: append([]string{in.Command}, in.Args...), dir: in.Dir}
	}
	a, err := s.approve(ctx, w)
	if err != nil {
		return execOut{}, err
	}
	q := a.request(in.Command + tail(in.Args))
	q.Mode, q.Timeout, q.Progress = process.Foreground, s.settings.Duration("timeout"), progress(ctx)
	r, err := s.runner.Run(ctx, q)
	if err != nil {
		return execOut{}, err
	}
	out := execOut{
		Stdout: r.Stdout.Text(), Stderr: r.Stderr.Text(), ExitCode: r.Code, Signal: r.Signal,
		Truncated: r.Stdout.Omitted+r.Stderr.Omitted > 0, TimedOut: r.State == process.TimedOut, Message: left(r),
	}
	if out.Truncated || out.TimedOut {
		out.OutputID = r.OutputID
	}
	return out, exceeded(r)
}

// tail is arguments behind a command, for people.
func tail(args []string) string {
	var b strings.Builder
	for _, a := range args {
		fmt.Fprintf(&b, " %q", a)
	}
	return b.String()
}

// progress tells a client that wants it the newest lines.
func progress(ctx context.Context) func(process.Progress) {
	return func(p process.Progress) {
		toolkit.Progress(ctx, float64(p.Bytes), 0, strings.Join(p.Lines, "\n"))
	}
}

// Text is what was written, and how it ended.
func (o execOut) Text() string {
	var b strings.Builder
	b.Grow(len(o.Stdout) + len(o.Stderr) + roomForNotes)
	b.WriteString(o.Stdout)
	if o.Stderr != "" {
		section(&b, "stderr", o.Stderr)
	}
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
	endLine(&b)
	b.WriteString(note + "]\n")
	if o.Message != "" {
		b.WriteString(o.Message + "\n")
	}
	return b.String()
}

// roomForNotes is for what a text says besides the output: a long output is copied once.
const roomForNotes = 256

// section is a text under a heading.
func section(b *strings.Builder, name, text string) {
	endLine(b)
	b.WriteString("[" + name + "]\n")
	b.WriteString(text)
}

func endLine(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}
