package audit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Line is the event for a person at a terminal: local time, verdict and
// outcome, tool, first path, code and duration. Whatever came from a client is
// escaped, so that a name can neither forge a line nor command the terminal.
func (e Event) Line() string {
	words := e.words()
	return fmt.Sprintf("%s  %-13s  %-24s  %s", e.Time.Local().Format("2006-01-02 15:04:05.000"), words[0], words[1], strings.Join(words[2:], "  "))
}

// words are the line without its time.
func (e Event) words() []string {
	path := "-"
	if len(e.Paths) > 0 {
		path = visible(e.Paths[0])
	}
	if len(e.Paths) > 1 {
		path += fmt.Sprintf(" (+%d)", len(e.Paths)-1)
	}
	words := []string{visible(e.Verdict) + "/" + visible(e.Outcome), visible(e.Tool), path}
	if e.Code != "" {
		words = append(words, visible(e.Code))
	}
	if e.Outcome != "begin" {
		words = append(words, time.Duration(e.DurationMS*float64(time.Millisecond)).Round(10*time.Microsecond).String())
	}
	return words
}

// visible shows every character that is not plainly printable as its escape.
func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}
