package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/text"
)

// Line is the event for a person at a terminal: local time, verdict and
// outcome, tool, first path, code and duration. Whatever came from a client is
// escaped, so that a name can neither forge a line nor command the terminal.
func (e Event) Line() string {
	words := e.words()
	return fmt.Sprintf("%s  %-13s  %-24s  %s", e.Time.Local().Format("2006-01-02 15:04:05.000"), words[0], words[1],
		strings.Join(words[2:], "  "))
}

// words are the line without its time.
func (e Event) words() []string {
	path := "-"
	if len(e.Paths) > 0 {
		path = text.EscapeAll(e.Paths[0])
	}
	if len(e.Paths) > 1 {
		path += fmt.Sprintf(" (+%d)", len(e.Paths)-1)
	}
	words := []string{text.EscapeAll(e.Verdict) + "/" + text.EscapeAll(e.Outcome), text.EscapeAll(e.Tool), path}
	if e.Code != "" {
		words = append(words, text.EscapeAll(e.Code))
	}
	if e.Outcome != "begin" {
		words = append(words, time.Duration(e.DurationMS*float64(time.Millisecond)).Round(10*time.Microsecond).String())
	}
	return words
}
