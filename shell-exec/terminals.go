package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/screen"
	"github.com/multiollama/mcp-server/shell-exec/internal/terminal"
)

var (
	createSpec = toolkit.Spec{
		Name: "terminal_create", Title: "Open a terminal", Toolset: "terminal", Effect: toolkit.Runs, Destructive: true, OpenWorld: true,
		Doc: "Open a terminal with a shell in it, in the same sandbox as commands. What is typed is judged as commands are.",
	}
	terminalsSpec = toolkit.Spec{
		Name: "terminal_list", Title: "List terminals", Toolset: "terminal", Effect: toolkit.Reads,
		Doc: "List the terminals of this server, the oldest first.",
	}
	terminalSpec = toolkit.Spec{
		Name: "terminal_get_info", Title: "Look at a terminal", Toolset: "terminal", Effect: toolkit.Reads,
		Doc: "Describe a terminal: size, state, where its shell is.",
	}
	resizeSpec = toolkit.Spec{
		Name: "terminal_resize", Title: "Resize a terminal", Toolset: "terminal", Effect: toolkit.Runs, Idempotent: true,
		Doc: "Give a terminal another size.",
	}
	closeSpec = toolkit.Spec{
		Name: "terminal_close", Title: "Close a terminal", Toolset: "terminal", Effect: toolkit.Runs, Destructive: true,
		Doc: "Close a terminal and end all that runs in it.",
	}
)

type dimensions struct {
	Width  int `json:"width,omitempty" default:"120" min:"1" max:"1000"`
	Height int `json:"height,omitempty" default:"30" min:"1" max:"500"`
}

// size is that of a new terminal where none is given.
func (d dimensions) size() screen.Size {
	size := terminal.DefaultSize
	if d.Width > 0 {
		size.Width = d.Width
	}
	if d.Height > 0 {
		size.Height = d.Height
	}
	return size
}

type createIn struct {
	Name  string            `json:"session_name,omitempty"`
	Shell string            `json:"shell_type,omitempty" default:"bash" enum:"bash|zsh|fish|sh|cmd|powershell"`
	Size  dimensions        `json:"dimensions,omitzero"`
	Dir   string            `json:"working_directory,omitempty" path:"read"`
	Env   map[string]string `json:"environment_variables,omitempty" secret:"true"`
	Save  bool              `json:"auto_save_history,omitempty" default:"true" doc:"Keep all that is written, under output_id."`
}

// terminalOut is a terminal as documents 001 and 003 have it.
type terminalOut struct {
	ID       string     `json:"terminal_id"`
	Name     string     `json:"session_name"`
	Shell    string     `json:"shell_type"`
	Size     dimensions `json:"dimensions"`
	PID      int        `json:"process_id"`
	Status   string     `json:"status" enum:"active|idle|exited"`
	Dir      string     `json:"working_directory"`
	ExitCode *int       `json:"exit_code,omitempty"`
	Signal   string     `json:"signal,omitempty"`
	OutputID string     `json:"output_id,omitempty"`
	Created  string     `json:"created_at"`
	Active   string     `json:"last_activity"`
}

func terminalOf(i terminal.Info) terminalOut {
	out := terminalOut{
		ID: i.ID, Name: i.Name, Shell: i.Shell, Size: dimensions{i.Size.Width, i.Size.Height}, PID: i.PID, Status: string(i.Status),
		Dir: i.Dir, Signal: i.Signal, OutputID: i.OutputID,
		Created: stamp(i.Created), Active: stamp(i.LastActivity),
	}
	if i.Status == terminal.Exited {
		out.ExitCode = &i.ExitCode
	}
	return out
}

// Text is the terminal in a line.
func (o terminalOut) Text() string {
	line := fmt.Sprintf("%s  %-6s  %s  pid %d  %dx%d  %s", o.ID, o.Status, o.Shell, o.PID, o.Size.Width, o.Size.Height, text.Escape(o.Dir))
	if o.Name != "" {
		line += "  " + text.Escape(o.Name)
	}
	return line + "\n"
}

func (s *shell) createTerminal(ctx context.Context, in createIn) (terminalOut, error) {
	argv, err := terminal.ShellCommand(in.Shell)
	if err != nil {
		return terminalOut{}, err
	}
	p, err := s.approve(ctx, request{argv: argv, dir: in.Dir, env: in.Env, typed: true})
	if err != nil {
		return terminalOut{}, err
	}
	i, err := s.terminals.Create(ctx, terminal.Request{
		Command: p.command, Name: in.Name, Shell: in.Shell, Text: strings.Join(argv, " "), Size: in.Size.size(), SaveHistory: in.Save,
	})
	if err != nil {
		return terminalOut{}, err
	}
	return terminalOf(i), nil
}

type terminalsIn struct {
	Name   string `json:"session_name_pattern,omitempty" doc:"With * and ?."`
	Status string `json:"status_filter,omitempty" default:"all" enum:"active|idle|exited|all"`
	Limit  int    `json:"limit,omitempty" default:"50" min:"1" max:"1000"`
}

type terminalsOut struct {
	Terminals []terminalOut `json:"terminals"`
	Total     int           `json:"total_count"`
}

func (s *shell) listTerminals(_ context.Context, in terminalsIn) (terminalsOut, error) {
	l, err := s.terminals.List(terminal.Filter{Name: in.Name, Status: in.Status, Limit: in.Limit})
	out := terminalsOut{Terminals: make([]terminalOut, len(l.Terminals)), Total: l.Total}
	for i, t := range l.Terminals {
		out.Terminals[i] = terminalOf(t)
	}
	return out, err
}

// openTerminals are those whose program has not ended.
func (s *shell) openTerminals() ([]terminal.Info, error) {
	l, err := s.terminals.List(terminal.Filter{Limit: 1000})
	return slices.DeleteFunc(l.Terminals, func(i terminal.Info) bool { return i.Status == terminal.Exited }), err
}

// Text is a terminal a line.
func (o terminalsOut) Text() string {
	if len(o.Terminals) == 0 {
		return "[no terminals]\n"
	}
	var b strings.Builder
	for _, t := range o.Terminals {
		b.WriteString(t.Text())
	}
	return b.String()
}

type terminalIn struct {
	ID string `json:"terminal_id"`
}

func (s *shell) terminalInfo(_ context.Context, in terminalIn) (terminalOut, error) {
	i, err := s.terminals.Get(in.ID)
	return terminalOf(i), err
}

type resizeIn struct {
	ID   string `json:"terminal_id"`
	Size struct {
		Width  int `json:"width" min:"1" max:"1000"`
		Height int `json:"height" min:"1" max:"500"`
	} `json:"dimensions"`
}

type resizeOut struct {
	Success bool       `json:"success"`
	ID      string     `json:"terminal_id"`
	Size    dimensions `json:"dimensions"`
	Updated string     `json:"updated_at"`
}

func (s *shell) resizeTerminal(_ context.Context, in resizeIn) (resizeOut, error) {
	i, err := s.terminals.Resize(in.ID, screen.Size{Width: in.Size.Width, Height: in.Size.Height})
	return resizeOut{Success: true, ID: i.ID, Size: dimensions{i.Size.Width, i.Size.Height}, Updated: stamp(time.Now())}, err
}

// Text is the new size.
func (o resizeOut) Text() string {
	return fmt.Sprintf("%s is %dx%d now.\n", o.ID, o.Size.Width, o.Size.Height)
}

type closeIn struct {
	ID   string `json:"terminal_id"`
	Save bool   `json:"save_history,omitempty" default:"true"`
}

type closeOut struct {
	Success  bool   `json:"success"`
	ID       string `json:"terminal_id"`
	Saved    bool   `json:"history_saved"`
	OutputID string `json:"output_id,omitempty" doc:"Of the history, for read_execution_output."`
	Closed   string `json:"closed_at"`
}

func (s *shell) closeTerminal(ctx context.Context, in closeIn) (closeOut, error) {
	c, err := s.terminals.Close(ctx, in.ID, &in.Save)
	if err != nil {
		return closeOut{}, err
	}
	out := closeOut{Success: true, ID: c.ID, Saved: c.HistorySaved, Closed: stamp(c.ClosedAt)}
	if c.HistorySaved {
		out.OutputID = c.OutputID
	}
	return out, nil
}

// Text says what became of the history.
func (o closeOut) Text() string {
	if o.Saved {
		return o.ID + " is closed; what was written in it: read_execution_output " + o.OutputID + "\n"
	}
	return o.ID + " is closed.\n"
}

// inTerminal is what makes shell_execute type its command in a new terminal.
type inTerminal struct {
	Create bool       `json:"create_terminal,omitempty" doc:"Type it in a new terminal."`
	Shell  string     `json:"terminal_shell,omitempty" default:"bash" enum:"bash|zsh|fish|sh|cmd|powershell"`
	Size   dimensions `json:"terminal_dimensions,omitzero"`
}

// untilQuiet is the screen of a terminal once nothing was written for a moment.
func (s *shell) untilQuiet(ctx context.Context, id string) (terminal.Output, error) {
	// As long as that, a command in a new terminal is given to show something.
	quiet := &terminal.WaitFor{Quiet: 300 * time.Millisecond, Deadline: 5 * time.Second}
	return s.terminals.Output(ctx, terminal.Query{ID: id, Screen: true, Wait: quiet})
}

// executeTyped opens a terminal and types the command in it; a command that is nothing
// but a shell is the shell that is opened.
func (s *shell) executeTyped(ctx context.Context, in executeIn) (executionOut, error) {
	shell, command := in.inTerminal.Shell, in.Command
	if _, err := terminal.ShellCommand(command); err == nil {
		shell, command = command, ""
	}
	// The user is asked before anything is opened; what is typed then is the same question.
	if command != "" {
		if err := s.judgeFirst(ctx, in, shell, command); err != nil {
			return executionOut{}, err
		}
	}
	t, err := s.createTerminal(ctx, createIn{Name: in.Session, Shell: shell, Size: in.inTerminal.Size, Dir: in.Dir, Env: in.Env, Save: true})
	if err != nil {
		return executionOut{}, err
	}
	if command != "" {
		_, err = s.untilQuiet(ctx, t.ID) // at its prompt: what is typed before is shown twice
		if err == nil {
			_, err = s.send(ctx, sendIn{ID: t.ID, Input: command, Execute: true})
		}
		if err != nil {
			_, _ = s.terminals.Close(context.WithoutCancel(ctx), t.ID, nil) // the error that counts is the other
			return executionOut{}, err
		}
	}
	out, err := s.untilQuiet(ctx, t.ID)
	if err != nil {
		return executionOut{}, err
	}
	return s.asExecution(ctx, out), nil
}

// asExecution is a terminal as an execution, whose ID is that of the terminal.
func (s *shell) asExecution(ctx context.Context, o terminal.Output) executionOut {
	t, base := terminalOf(o.Info), s.defaultDir(ctx)
	out := executionOut{
		Success: true, ID: t.ID, Status: "running", Terminal: t.ID, PID: t.PID, OutputID: t.OutputID, ExitCode: t.ExitCode, Signal: t.Signal,
		Stdout: lines(o.Lines), Created: t.Created, Dir: t.Dir, Default: base, Changed: t.Dir != base,
		Message: "It runs in a terminal: terminal_get_output shows it, terminal_send_input types, terminal_close ends it.",
	}
	if t.ExitCode != nil {
		out.Success, out.Status, out.Message = *t.ExitCode == 0, "completed", "Its program has ended; terminal_get_output still shows it."
	}
	return out
}

var (
	sendSpec = toolkit.Spec{
		Name: "terminal_send_input", Title: "Type into a terminal", Toolset: "terminal", Effect: toolkit.Runs, Destructive: true, OpenWorld: true,
		Doc: "Type into a terminal. What a shell would run is judged first, all of it or none is sent.",
	}
	outputSpec = toolkit.Spec{
		Name: "terminal_get_output", Title: "Look at what a terminal shows", Toolset: "terminal", Effect: toolkit.Reads,
		Doc: "Show lines of a terminal by number, or its screen as it is now; with wait_for, once something has happened.",
	}
)

type sendIn struct {
	ID      string   `json:"terminal_id"`
	Input   string   `json:"input"`
	Execute bool     `json:"execute,omitempty" doc:"Press Enter after it."`
	Codes   bool     `json:"control_codes,omitempty" doc:"It holds codes such as \\x03, \\e[A, \\u3042 or ^C."`
	Raw     bool     `json:"raw_bytes,omitempty" doc:"It is hexadecimal."`
	Keys    []string `json:"keys,omitempty" maxItems:"100" doc:"Pressed after it: Enter, Up, F5, Ctrl+C, Alt+b."`
	Paste   bool     `json:"paste,omitempty" doc:"As a paste."`
	To      string   `json:"send_to,omitempty" doc:"Only if this has the keyboard: a name, a path, pid:N, sessionleader:, *."`
}

type foreground struct {
	PID    int    `json:"process_id"`
	Name   string `json:"name"`
	Path   string `json:"path,omitempty"`
	Leader bool   `json:"session_leader"`
}

type guardOut struct {
	Target     string `json:"target"`
	Passed     bool   `json:"passed"`
	Foreground string `json:"foreground_process"`
}

type sendOut struct {
	Success bool      `json:"success"`
	Sent    string    `json:"input_sent" doc:"Controls are escaped."`
	Codes   bool      `json:"control_codes_enabled"`
	Raw     bool      `json:"raw_bytes_mode"`
	Guard   *guardOut `json:"program_guard,omitempty"`
	Judged  bool      `json:"judged" doc:"The policy was asked."`
	Time    string    `json:"timestamp"`
}

func (s *shell) send(ctx context.Context, in sendIn) (sendOut, error) {
	sent, err := s.terminals.Send(ctx, terminal.Input{
		ID: in.ID, Text: in.Input, Execute: in.Execute, ControlCodes: in.Codes, RawBytes: in.Raw, Paste: in.Paste, Keys: in.Keys,
		SendTo: terminal.Guard(in.To),
		Judge:  func(p terminal.Pending) (terminal.Verdict, error) { return s.judgeTyped(ctx, p) },
	})
	if err != nil {
		return sendOut{}, err
	}
	out := sendOut{
		Success: true, Sent: text.Escape(string(sent.Bytes)), Codes: in.Codes, Raw: in.Raw, Judged: sent.Judged, Time: stamp(sent.Time),
	}
	if in.To != "" {
		out.Guard = &guardOut{Target: in.To, Passed: true, Foreground: fmt.Sprintf("%s (process %d)", sent.Foreground.Name, sent.Foreground.PID)}
	}
	return out, nil
}

// Text is what was sent.
func (o sendOut) Text() string { return "Typed " + o.Sent + "\n" }

// Bytes is recorded in the audit log.
func (o sendOut) Bytes() int64 { return int64(len(o.Sent)) }

type outputIn struct {
	ID         string `json:"terminal_id"`
	Start      int64  `json:"start_line,omitempty" default:"0" doc:"The first line ever is 0; below zero from the end."`
	Count      int    `json:"line_count,omitempty" default:"100" min:"1" max:"10000"`
	ANSI       bool   `json:"include_ansi,omitempty" doc:"With colours."`
	Foreground bool   `json:"include_foreground_process,omitempty"`
	Screen     bool   `json:"screen,omitempty" doc:"The screen as it is now."`
	Wait       waitIn `json:"wait_for,omitzero" doc:"The first of these, or the end of the program."`
}

type waitIn struct {
	Pattern string `json:"pattern,omitempty" doc:"A regular expression for a new line."`
	Since   string `json:"since,omitempty" default:"last_input" enum:"last_input|now|start" doc:"When lines are new."`
	Quiet   int    `json:"quiet_ms,omitempty" min:"1" max:"300000"`
	Exit    bool   `json:"exit,omitempty" doc:"Only the end of the program."`
	Timeout int    `json:"timeout_ms,omitempty" default:"10000" min:"1" max:"300000"`
}

type screenOut struct {
	ID         string      `json:"terminal_id"`
	Output     string      `json:"output"`
	Start      int64       `json:"start_line"`
	Count      int         `json:"line_count"`
	Total      int64       `json:"total_lines"`
	More       bool        `json:"has_more"`
	Lost       int64       `json:"lost_lines,omitempty" doc:"No longer kept."`
	Status     string      `json:"status" enum:"active|idle|exited"`
	ExitCode   *int        `json:"exit_code,omitempty"`
	Row        int         `json:"cursor_row"`
	Column     int         `json:"cursor_column"`
	Hidden     bool        `json:"cursor_hidden,omitempty"`
	Alternate  bool        `json:"alternate_screen"`
	Title      string      `json:"title,omitempty"`
	Foreground *foreground `json:"foreground_process,omitempty"`
	Waited     string      `json:"wait_result,omitempty" enum:"matched|quiet|exited|deadline"`
	Match      string      `json:"matched_line,omitempty"`
}

func (s *shell) output(ctx context.Context, in outputIn) (screenOut, error) {
	q := terminal.Query{ID: in.ID, Start: in.Start, Count: in.Count, ANSI: in.ANSI, Screen: in.Screen, Foreground: in.Foreground}
	if w := in.Wait; w.Pattern != "" || w.Quiet != 0 || w.Exit {
		q.Wait = &terminal.WaitFor{
			Pattern: w.Pattern, Since: map[string]terminal.Moment{"now": terminal.Now, "start": terminal.Start}[w.Since],
			Quiet: time.Duration(w.Quiet) * time.Millisecond, Exit: w.Exit, Deadline: time.Duration(w.Timeout) * time.Millisecond,
		}
	}
	o, err := s.terminals.Output(ctx, q)
	if err != nil {
		return screenOut{}, err
	}
	t := terminalOf(o.Info)
	out := screenOut{
		ID: o.ID, Output: lines(o.Lines), Start: o.Start, Count: len(o.Lines), Total: o.Total, More: o.More, Lost: o.Lost,
		Status: t.Status, ExitCode: t.ExitCode, Row: o.Cursor.Row, Column: o.Cursor.Column, Hidden: o.Cursor.Hidden,
		Alternate: o.Alternate, Title: o.Title, Waited: string(o.Happened), Match: o.Match,
	}
	if f := o.Foreground; f != nil {
		out.Foreground = &foreground{f.PID, f.Name, f.Path, f.Leader}
	}
	return out, nil
}

// lines are rows as a text, without the empty ones at the end.
func lines(rows []string) string {
	all := strings.TrimRight(strings.Join(rows, "\n"), "\n")
	if all == "" {
		return ""
	}
	return all + "\n"
}

// Text is what is shown, and what the fields alone might not say.
func (o screenOut) Text() string {
	var b strings.Builder
	b.WriteString(o.Output)
	fmt.Fprintf(&b, "[%s", o.Status)
	if o.ExitCode != nil {
		fmt.Fprintf(&b, ", exit code %d", *o.ExitCode)
	}
	if o.Alternate {
		b.WriteString(", full screen")
	}
	if o.Waited != "" {
		b.WriteString(", waited until " + o.Waited)
	}
	if o.Foreground != nil {
		fmt.Fprintf(&b, ", %s (pid %d) has the keyboard", text.Escape(o.Foreground.Name), o.Foreground.PID)
	}
	if o.Lost > 0 {
		fmt.Fprintf(&b, ", %d lines are no longer kept", o.Lost)
	}
	fmt.Fprintf(&b, "; lines %d to %d of %d]\n", o.Start, o.Start+int64(o.Count), o.Total)
	return b.String()
}

// Bytes is recorded in the audit log.
func (o screenOut) Bytes() int64 { return int64(len(o.Output)) }
