package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/multiollama/mcp-server/shared/text"
)

// Verdict is what doctor thinks of something. The zero Verdict counts as Bad.
type Verdict int

// The verdicts.
const (
	_    Verdict = iota
	OK           // as it should be
	Warn         // works, and one should know
	Bad          // does not work, or does not protect as asked
)

// String is the verdict in one word.
func (v Verdict) String() string {
	switch v {
	case OK:
		return "ok"
	case Warn:
		return "warn"
	}
	return "bad"
}

// MarshalText is the word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word; what is none is Bad.
func (v *Verdict) UnmarshalText(word []byte) error {
	*v = Bad
	for _, known := range []Verdict{OK, Warn} {
		if known.String() == string(word) {
			*v = known
		}
	}
	return nil
}

// Check is one line of doctor.
type Check struct {
	Verdict Verdict `json:"verdict"`
	Subject string  `json:"subject"`       // a word or two: "audit log"
	Text    string  `json:"text"`          // how it is, in plain words
	Fix     string  `json:"fix,omitempty"` // how to get it right
}

// writeChecks writes lines for a person. What a host's file and what it starts say is
// escaped, as it is in all that shows the words of others.
func writeChecks(w io.Writer, checks []Check) error {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-4s  %-12s  %s\n", c.Verdict, c.Subject, text.Escape(c.Text))
		if c.Fix != "" {
			fmt.Fprintf(&b, "%20s-> %s\n", "", text.Escape(c.Fix))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// several is "1 event", "2 events".
func several(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
