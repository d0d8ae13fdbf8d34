package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/multiollama/mcp-server/shared/text"
)

// screen shows a person what is asked and answered. Everything that came from a
// server is escaped before it is shown, so that a file's content cannot act on
// the terminal.
type screen struct {
	in      *bufio.Reader
	present bool // somebody is there to answer
	colours bool
	lines   int // of an answer; 0 for all

	mu       sync.Mutex // servers speak whenever they like
	out, err io.Writer
}

// The ways in which text stands out (ECMA-48 SGR parameters).
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
	blue  = "36"
)

func newScreen(w world, lines int) *screen {
	_, plain := w.lookup("NO_COLOR") // no-color.org
	return &screen{
		in: bufio.NewReader(w.in), present: isTerminal(w.in) && isTerminal(w.out),
		colours: isTerminal(w.out) && !plain, lines: lines, out: w.out, err: w.err,
	}
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (s *screen) paint(colour, line string) string {
	if !s.colours {
		return line
	}
	return "\x1b[" + colour + "m" + line + "\x1b[0m"
}

func (s *screen) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, line)
}

func (s *screen) heading(line string) { s.print("\n" + s.paint(bold, line)) }
func (s *screen) note(line string)    { s.print("  " + s.paint(green, line)) }
func (s *screen) failure(line string) { s.print("  " + s.paint(red, escape(line))) }

// question shows a call that is about to be made.
func (s *screen) question(server, tool, arguments string) {
	s.print("\n" + strings.TrimSpace(s.paint(blue, "▸ "+server+" "+tool)+" "+escape(arguments)))
}

// answer shows a result: its text, and what else is in it by kind and size.
func (s *screen) answer(r *mcp.CallToolResult) {
	bar := s.paint(faint, "│")
	if r.IsError {
		bar = s.paint(red, "✗")
	}
	var lines []string
	for _, content := range r.Content {
		lines = append(lines, describe(content)...)
	}
	shown := len(lines)
	if s.lines > 0 {
		shown = min(shown, s.lines)
	}
	for _, line := range lines[:shown] {
		s.print("  " + bar + " " + escape(line))
	}
	if hidden := len(lines) - shown; hidden > 0 {
		s.print("  " + s.paint(faint, fmt.Sprintf("… and %d more lines", hidden)))
	}
}

// describe is one content block in lines.
func describe(content mcp.Content) []string {
	switch c := content.(type) {
	case *mcp.TextContent:
		return strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")
	case *mcp.ImageContent:
		return []string{fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data))}
	case *mcp.AudioContent:
		return []string{fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data))}
	case *mcp.EmbeddedResource:
		return []string{fmt.Sprintf("[resource %s, %s, %d bytes]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Text)+len(c.Resource.Blob))}
	case *mcp.ResourceLink:
		return []string{fmt.Sprintf("[link %s]", c.URI)}
	}
	return []string{"[content of a kind unknown to this host]"}
}

// tools shows a server's tools, one a line: its name, what it says it does to
// the world, and the first sentence of its description.
func (s *screen) tools(server string, info *mcp.InitializeResult, tools []*mcp.Tool) {
	title := server
	if info != nil && info.ServerInfo != nil {
		title += s.paint(faint, fmt.Sprintf("  %s %s, protocol %s", escape(info.ServerInfo.Name), escape(info.ServerInfo.Version), info.ProtocolVersion))
	}
	s.print("\n" + s.paint(bold, "▸ ") + title)
	width := 0
	for _, tool := range tools {
		width = max(width, utf8.RuneCountInString(tool.Name))
	}
	for _, tool := range tools {
		name := fmt.Sprintf("%-*s", width, escape(tool.Name))
		s.print(fmt.Sprintf("  %s  %s  %s", s.paint(blue, name), s.paint(faint, fmt.Sprintf("%-7s", effect(tool))), escape(sentence(tool.Description))))
	}
}

// effect is what a tool says it does to the world. A tool that says nothing may
// do anything: that is the protocol's default.
func effect(tool *mcp.Tool) string {
	a := tool.Annotations
	switch {
	case a == nil:
		return "unknown"
	case a.ReadOnlyHint:
		return "reads"
	case a.DestructiveHint == nil || *a.DestructiveHint:
		return "changes"
	}
	return "adds"
}

// sentence is the first one of a description.
func sentence(description string) string {
	line, _, _ := strings.Cut(description, "\n")
	first, _, more := strings.Cut(line, ". ")
	if more {
		return first + "."
	}
	return line
}

func (s *screen) progress(p *mcp.ProgressNotificationParams) {
	done := fmt.Sprint(p.Progress)
	if p.Total > 0 {
		done += fmt.Sprintf("/%v", p.Total)
	}
	s.print("  " + s.paint(faint, strings.TrimSpace("… "+done+" "+escape(p.Message))))
}

// diagnostics is where a server's stderr goes: to the host's own, each line
// with the server's name.
func (s *screen) diagnostics(server string) io.Writer {
	return &prefixed{screen: s, prefix: server}
}

type prefixed struct {
	screen  *screen
	prefix  string
	pending string // a line that has not ended yet
}

func (p *prefixed) Write(b []byte) (int, error) {
	lines := strings.Split(p.pending+string(b), "\n")
	p.pending = lines[len(lines)-1]
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	for _, line := range lines[:len(lines)-1] {
		fmt.Fprintf(p.screen.err, "%s: %s\n", p.prefix, escape(line))
	}
	return len(b), nil
}

// escape makes one line harmless for a terminal; tabs stay.
func escape(line string) string { return text.Escape(line, '\t') }
