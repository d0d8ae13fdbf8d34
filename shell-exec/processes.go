package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/process"
	"github.com/multiollama/mcp-server/shell-exec/internal/terminal"
)

var (
	getSpec = toolkit.Spec{
		Name: "process_get_execution", Title: "Look at an execution", Toolset: "process", Effect: toolkit.Reads,
		Doc: "Describe an execution: its state, exit code, output so far, memory and processor; with wait_seconds, once it has ended.",
	}
	listSpec = toolkit.Spec{
		Name: "process_list", Title: "List executions", Toolset: "process", Effect: toolkit.Reads,
		Doc: "List what this server has started, the newest first.",
	}
	terminateSpec = toolkit.Spec{
		Name: "process_terminate", Title: "End a process", Toolset: "process", Effect: toolkit.Runs, Destructive: true,
		Doc: "Send a signal to a process that this server started, and to all that it started. TERM is followed by KILL.",
	}
)

type getIn struct {
	ID   string `json:"execution_id"`
	Wait int    `json:"wait_seconds,omitempty" min:"0" max:"300" doc:"For its end."`
}

type getOut struct {
	executionOut
	Command   string            `json:"command"`
	Env       map[string]string `json:"environment_variables" doc:"Values are not told."`
	Memory    float64           `json:"memory_usage_mb"`
	CPU       float64           `json:"cpu_usage_percent"`
	Processes int               `json:"process_count"`
	Started   string            `json:"started_at"`
	Monitor   string            `json:"monitor_id,omitempty"`
	Latest    figures           `json:"metrics,omitempty" doc:"What the monitor saw last."`
}

func (s *shell) get(ctx context.Context, in getIn) (getOut, error) {
	if info, err := s.terminals.Get(in.ID); err == nil {
		return s.getTerminal(ctx, in, info)
	}
	r, err := s.runner.Await(ctx, in.ID, time.Duration(in.Wait)*time.Second)
	if err != nil {
		return getOut{}, err
	}
	out := getOut{
		executionOut: s.execution(ctx, r), Command: r.Text, Env: map[string]string{},
		Memory: float64(r.Usage.Memory) / mb, CPU: 100 * r.Processor(), Processes: r.Usage.Processes, Started: stamp(r.Started),
	}
	out.Monitor, out.Latest = s.latestFigures(r.ID)
	for name := range r.Variables {
		out.Env[name] = "…"
	}
	return out, nil
}

// getTerminal is an execution that runs in a terminal.
func (s *shell) getTerminal(ctx context.Context, in getIn, info terminal.Info) (getOut, error) {
	q := terminal.Query{ID: in.ID, Screen: true}
	if in.Wait > 0 {
		q.Wait = &terminal.WaitFor{Exit: true, Deadline: time.Duration(in.Wait) * time.Second}
	}
	o, err := s.terminals.Output(ctx, q)
	if err != nil {
		return getOut{}, err
	}
	out := getOut{executionOut: s.asExecution(ctx, o), Command: info.Command, Env: map[string]string{}}
	out.Started = out.Created
	out.Monitor, out.Latest = s.latestFigures(in.ID)
	if w, err := s.terminals.Watch(info.PID); err == nil {
		out.Processes = len(w.PIDs())
	}
	return out, nil
}

type listIn struct {
	State   string `json:"status_filter,omitempty" default:"all" enum:"running|completed|failed|timeout|all"`
	Pattern string `json:"command_pattern,omitempty" doc:"A part of the command, or a regular expression."`
	Session string `json:"session_id,omitempty"`
	Limit   int    `json:"limit,omitempty" default:"50" min:"1" max:"1000"`
	Offset  int    `json:"offset,omitempty" min:"0"`
}

type listOut struct {
	Processes []processOut `json:"processes"`
	Total     int          `json:"total_count"`
	Filtered  int          `json:"filtered_count"`
}

type processOut struct {
	ID       string  `json:"execution_id"`
	PID      int     `json:"process_id"`
	Command  string  `json:"command"`
	Status   string  `json:"status"`
	Mode     string  `json:"execution_mode"`
	ExitCode *int    `json:"exit_code,omitempty"`
	Time     float64 `json:"execution_time_ms"`
	Session  string  `json:"session_id,omitempty"`
	Created  string  `json:"created_at"`
	OutputID string  `json:"output_id,omitempty"`
}

func (s *shell) list(_ context.Context, in listIn) (listOut, error) {
	f := process.Filter{Pattern: in.Pattern, Session: in.Session, Limit: in.Limit, Offset: in.Offset}
	if in.State != "all" {
		f.State = process.State(in.State)
	}
	found, err := s.runner.List(f)
	out := listOut{Processes: make([]processOut, len(found.Records)), Total: found.Total, Filtered: found.Filtered}
	for i, r := range found.Records {
		out.Processes[i] = processOut{
			ID: r.ID, PID: r.PID, Command: r.Text, Status: string(r.State), Mode: string(r.Mode),
			Time: float64(r.Duration()) / float64(time.Millisecond), Session: r.Session, OutputID: r.OutputID,
			Created: r.Started.UTC().Format(time.RFC3339),
		}
		if r.State != process.Running {
			out.Processes[i].ExitCode = &found.Records[i].Code
		}
	}
	return out, err
}

// Text is an execution a line.
func (o listOut) Text() string {
	if len(o.Processes) == 0 {
		return "[nothing]\n"
	}
	var b strings.Builder
	for _, p := range o.Processes {
		line, _, _ := strings.Cut(p.Command, "\n")
		fmt.Fprintf(&b, "%s  %-9s  pid %d  %s\n", p.ID, p.Status, p.PID, text.Escape(line))
	}
	if o.Filtered > len(o.Processes) {
		fmt.Fprintf(&b, "[%d of %d]\n", len(o.Processes), o.Filtered)
	}
	return b.String()
}

type terminateIn struct {
	PID    int    `json:"process_id" min:"1"`
	Signal string `json:"signal,omitempty" default:"TERM" enum:"TERM|KILL|INT|HUP|USR1|USR2"`
	Force  bool   `json:"force,omitempty" doc:"KILL at once."`
}

type terminateOut struct {
	Success  bool   `json:"success"`
	PID      int    `json:"process_id"`
	Sent     string `json:"signal_sent"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Message  string `json:"message"`
}

func (s *shell) terminate(ctx context.Context, in terminateIn) (terminateOut, error) {
	if t, err := s.terminals.Watch(in.PID); err == nil { // it is closed: an interactive shell does not heed TERM alone
		if !in.Force && in.Signal != "TERM" && in.Signal != "KILL" && in.Signal != "HUP" {
			return terminateOut{}, fault.New(fault.ParamInvalid, "the process is the one of a terminal, which is closed and not signalled",
				"Type ^C with terminal_send_input, or send TERM").With("parameter", "signal").With("terminal_id", t.ID)
		}
		if _, err := s.closeTerminal(ctx, closeIn{ID: t.ID, Save: true}); err != nil {
			return terminateOut{}, err
		}
		message := "The terminal " + t.ID + " is closed, with all that ran in it."
		return terminateOut{Success: true, PID: in.PID, Sent: "KILL", Message: message}, nil
	}
	done, err := s.runner.Terminate(ctx, process.Termination{PID: in.PID, Signal: in.Signal, Force: in.Force})
	if err != nil {
		return terminateOut{}, err
	}
	out := terminateOut{Success: true, PID: in.PID, Sent: strings.TrimPrefix(done.Sent, "SIG")}
	out.Message = done.Sent + " was sent; the process goes on."
	if done.Ended {
		out.Message = "The process has ended, with all that it started."
	}
	if done.State != process.Running {
		out.ExitCode = &done.Code
	}
	return out, nil
}

// Text is what the execution wrote, and what its monitor saw.
func (o getOut) Text() string {
	if o.Monitor == "" {
		return o.executionOut.Text()
	}
	return o.executionOut.Text() + "[" + o.Monitor + ": " + o.Latest.String() + "]\n"
}

// Text is the message.
func (o terminateOut) Text() string { return o.Message + "\n" }
