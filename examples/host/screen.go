package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/multiollama/mcp-server/shared/text"
)

// screen shows a person calls and their results. Everything that came from a
// server is escaped before it is shown, so that a file's content cannot act on
// the terminal.
type screen struct {
	in      *bufio.Reader
	present bool // somebody is there to answer
	colours bool
	lines   int // of an answer; 0 for all

	mu       sync.Mutex // servers write at any time
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

func newScreen(w streams, lines int) *screen {
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
		switch c := content.(type) {
		case *mcp.TextContent:
			lines = append(lines, strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")...)
		case *mcp.ImageContent:
			lines = append(lines, fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			lines = append(lines, fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.EmbeddedResource:
			r := c.Resource
			lines = append(lines, fmt.Sprintf("[resource %s, %s, %d bytes]", r.URI, r.MIMEType, len(r.Text)+len(r.Blob)))
		case *mcp.ResourceLink:
			lines = append(lines, fmt.Sprintf("[link %s]", c.URI))
		default:
			lines = append(lines, "[content of a kind unknown to this host]")
		}
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

// tools shows a server's tools, one a line: its name, what it says it does to
// the world, and the first sentence of its description.
func (s *screen) tools(server string, info *mcp.InitializeResult, tools []*mcp.Tool) {
	title := server
	if info != nil && info.ServerInfo != nil {
		name, version := escape(info.ServerInfo.Name), escape(info.ServerInfo.Version)
		title += s.paint(faint, fmt.Sprintf("  %s %s, protocol %s", name, version, info.ProtocolVersion))
	}
	s.print("\n" + s.paint(bold, "▸ ") + title)
	width := 0
	for _, tool := range tools {
		width = max(width, utf8.RuneCountInString(tool.Name))
	}
	for _, tool := range tools {
		// A tool that says nothing of its effect may do anything: that is the protocol's default.
		effect, a := "adds", tool.Annotations
		switch {
		case a == nil:
			effect = "unknown"
		case a.ReadOnlyHint:
			effect = "reads"
		case a.DestructiveHint == nil || *a.DestructiveHint:
			effect = "changes"
		}
		sentence, _, _ := strings.Cut(tool.Description, "\n")
		if first, _, more := strings.Cut(sentence, ". "); more {
			sentence = first + "."
		}
		name := s.paint(blue, fmt.Sprintf("%-*s", width, escape(tool.Name)))
		s.print("  " + name + "  " + s.paint(faint, fmt.Sprintf("%-7s", effect)) + "  " + escape(sentence))
	}
}

func (s *screen) progress(p *mcp.ProgressNotificationParams) {
	done := fmt.Sprint(p.Progress)
	if p.Total > 0 {
		done += fmt.Sprintf("/%v", p.Total)
	}
	s.print("  " + s.paint(faint, strings.TrimSpace("… "+done+" "+escape(p.Message))))
}

// prefixed is where a server's stderr goes: to the host's own, each line with the
// server's name.
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

// ask shows a server's question to the person; without one it is declined.
func (s *screen) ask(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimSpace(r.Params.Message+"\n"+r.Params.URL), "\n") {
		fmt.Fprintln(s.out, "  "+s.paint(bold, "?"), escape(line))
	}
	if !s.present {
		fmt.Fprintln(s.out, "  "+s.paint(red, "nobody is here to answer: declined"))
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	// A form has fields (specification 2025-11-25, elicitation). A schema that is none has
	// no fields: the library has checked it before.
	var form struct {
		Properties map[string]struct {
			Type  string `json:"type"`
			Title string `json:"title"`
			Enum  []any  `json:"enum"`
		} `json:"properties"`
	}
	if raw, err := json.Marshal(r.Params.RequestedSchema); err == nil {
		_ = json.Unmarshal(raw, &form)
	}
	content := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		p := form.Properties[name]
		question := cmp.Or(p.Title, name)
		if p.Type == "boolean" {
			content[name] = s.yes(question)
			continue
		}
		if p.Enum != nil {
			question = fmt.Sprint(question, " ", p.Enum)
		}
		line := s.read(question + ": ")
		content[name] = line
		if number, err := strconv.ParseFloat(line, 64); err == nil && p.Type != "string" {
			content[name] = number
		}
	}
	if !s.yes("send this answer?") {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// yes is whether the person said so; anything else, and silence, is no.
func (s *screen) yes(question string) bool {
	answer := strings.ToLower(s.read(question + " [y/N] "))
	return answer == "y" || answer == "yes"
}

func (s *screen) read(prompt string) string {
	fmt.Fprint(s.out, "  ", s.paint(bold, escape(prompt)))
	line, _ := s.in.ReadString('\n')
	return strings.TrimSpace(line)
}

// escape makes one line harmless for a terminal; tabs stay.
func escape(line string) string { return text.Escape(line, '\t') }
