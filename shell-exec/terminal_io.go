package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/text"
	"github.com/multiollama/mcp-server/shared/toolkit"
	"github.com/multiollama/mcp-server/shell-exec/internal/terminal"
)

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
