package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
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
	done, err := s.run(ctx, r, process.Request{Text: shown, Mode: process.Foreground, Timeout: s.settings.Duration("timeout")})
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

var executeSpec = toolkit.Spec{
	Name: "shell_execute", Title: "Run a command, also a long one", Toolset: "shell", Effect: toolkit.Runs, Destructive: true, OpenWorld: true,
	Doc: "Run a shell command line. adaptive waits for a while, then lets it go on; foreground waits to the end or the time-out; " +
		"background answers at once; detached also outlives this server.",
}

type executeIn struct {
	Command string `json:"command" doc:"Shell command line."`
	Mode    string `json:"execution_mode,omitempty" default:"adaptive" enum:"foreground|background|detached|adaptive|sync|async" doc:"sync is foreground, async background."`

	Dir        string            `json:"working_directory,omitempty" path:"read"`
	Env        map[string]string `json:"environment_variables,omitempty" secret:"true"`
	Input      string            `json:"input_data,omitempty" content:"true" doc:"Standard input; empty otherwise."`
	Timeout    int               `json:"timeout_seconds,omitempty" min:"1" max:"3600" doc:"Ends the command. Default in foreground: 30."`
	Foreground int               `json:"foreground_timeout_seconds,omitempty" default:"10" min:"1" max:"300" doc:"How long adaptive waits."`
	MaxOutput  int               `json:"max_output_size,omitempty" default:"1048576" min:"1024" max:"104857600" doc:"Bytes of each stream."`
	Stderr     bool              `json:"capture_stderr,omitempty" default:"true"`
	Partial    bool              `json:"return_partial_on_timeout,omitempty" default:"true" doc:"A time-out is no error."`
	Session    string            `json:"session_id,omitempty" doc:"To find it by."`
	inTerminal
}

type executionOut struct {
	Success    bool    `json:"success"`
	ID         string  `json:"execution_id"`
	Status     string  `json:"status" enum:"completed|running|failed|timeout"`
	ExitCode   *int    `json:"exit_code,omitempty"`
	Signal     string  `json:"signal,omitempty"`
	Stdout     string  `json:"stdout"`
	Stderr     string  `json:"stderr"`
	Truncated  bool    `json:"output_truncated"`
	OutputID   string  `json:"output_id,omitempty" doc:"For read_execution_output."`
	Partial    bool    `json:"partial_output,omitempty"`
	Time       float64 `json:"execution_time_ms"`
	PID        int     `json:"process_id,omitempty"`
	Terminal   string  `json:"terminal_id,omitempty"`
	Transition string  `json:"transition_reason,omitempty"`
	Message    string  `json:"message,omitempty"`
	Created    string  `json:"created_at"`
	Completed  string  `json:"completed_at,omitempty"`
	Dir        string  `json:"working_directory"`
	Default    string  `json:"default_working_directory"`
	Changed    bool    `json:"working_directory_changed"`
}

func (s *shell) execute(ctx context.Context, in executeIn) (executionOut, error) {
	if in.Create {
		return s.executeTyped(ctx, in)
	}
	mode, err := process.ParseMode(in.Mode)
	if err != nil {
		return executionOut{}, err
	}
	r, err := s.run(ctx, request{text: in.Command, dir: in.Dir, env: in.Env, input: in.Input}, process.Request{
		Text: in.Command, Variables: in.Env, Session: in.Session, Input: in.Input, Mode: mode,
		Timeout: time.Duration(in.Timeout) * time.Second, ForegroundTimeout: time.Duration(in.Foreground) * time.Second,
		MaxOutput: in.MaxOutput, DropStderr: !in.Stderr, NoPartial: !in.Partial,
	})
	if err != nil {
		return executionOut{}, err
	}
	return s.execution(ctx, r), exceeded(r)
}

// exceeded is the error of a command that its limits have ended.
func exceeded(r process.Result) error {
	if r.Why != process.ByMemory {
		return nil
	}
	return fault.New(fault.OutOfMemory, fmt.Sprintf("the command needed more memory than it may have and was ended; it had %d bytes", r.Peak),
		"Work on less at once, or ask the person who runs this server for more (--max-memory)").
		With("peak_bytes", r.Peak).With("execution_id", r.ID)
}

// stamp is a time as results have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// execution is a result as documents 001 and 003 have it.
func (s *shell) execution(ctx context.Context, r process.Result) executionOut {
	base := s.defaultDir(ctx)
	out := executionOut{
		Success: r.State == process.Completed && r.Code == 0 || r.State == process.Running,
		ID:      r.ID, Status: string(r.State), Signal: r.Signal,
		Stdout: r.Stdout.Text(), Stderr: r.Stderr.Text(), Truncated: r.Stdout.Omitted+r.Stderr.Omitted > 0,
		OutputID: r.OutputID, Partial: r.Partial(), Time: float64(r.Duration()) / float64(time.Millisecond),
		PID: r.PID, Transition: string(r.Transition), Created: stamp(r.Started),
		Dir: r.Dir, Default: base, Changed: r.Dir != base,
	}
	if r.State != process.Running {
		out.ExitCode = &r.Code
		out.Completed = stamp(r.Completed)
	}

	// In words, what the fields alone might not say.
	switch {
	case r.State == process.TimedOut:
		out.Message = fmt.Sprintf("The command was ended after %s; what it wrote until then is here.", r.Duration().Round(time.Millisecond))
	case r.Mode == process.Detached && r.Written > 0 && r.Stdout.Total+r.Stderr.Total == 0:
		out.Message = "What it wrote is kept: read_execution_output with its output_id."
	case r.State == process.Running:
		out.Message = "The command goes on: process_get_execution with wait_seconds waits for it, process_terminate ends it."
	case r.Signal != "":
		out.Message = strings.TrimSpace("The command was ended by " + r.Signal + ". " + stillRunning(r))
	default:
		out.Message = stillRunning(r)
	}
	return out
}

// stillRunning says what a command that ended has left running, and until when.
func stillRunning(r process.Result) string {
	const processes = "Processes that the command started are still running; "
	switch {
	case !r.Lingering:
		return ""
	case r.Until.IsZero():
		return fmt.Sprintf(processes+"they end with the server, or by process_terminate with process_id %d.", r.PID)
	}
	return fmt.Sprintf(processes+"they are ended at %s, the command's own deadline, or earlier by process_terminate with process_id %d.",
		r.Until.UTC().Format(time.RFC3339), r.PID)
}

// Text is what was written, and how it ended or continues.
func (o executionOut) Text() string {
	b := outputText(o.Stdout, o.Stderr)
	fmt.Fprintf(b, "[%s, execution_id %s", o.Status, o.ID)
	if o.ExitCode != nil {
		fmt.Fprintf(b, ", exit code %d", *o.ExitCode)
	}
	if o.Truncated {
		b.WriteString(", all of it: read_execution_output " + o.OutputID)
	}
	b.WriteString("]\n")
	if o.Message != "" {
		b.WriteString(o.Message + "\n")
	}
	return b.String()
}

// Bytes is recorded in the audit log.
func (o executionOut) Bytes() int64 { return int64(len(o.Stdout) + len(o.Stderr)) }
