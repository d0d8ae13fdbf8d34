package main

import (
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
)

// counts is what an answer left out, by reason, so that "not found" is never a
// riddle. Reasons that did not occur are absent.
type counts map[string]int

// reasons are all there are, in the order in which they are told.
var reasons = []struct{ key, text string }{
	{"ignored", "excluded by .gitignore"},
	{"excluded", "excluded by the call"},
	{"hidden", "hidden"},
	{"denied", "denied by the operator"},
	{"unreadable", "unreadable"},
	{"links", "symbolic links not followed"},
	{"special", "special files"},
	{"binary", "binary"},
	{"tooLarge", "too large for multiline"},
}

func countsOf(s walk.Skipped) counts {
	c := counts{}
	c.add("ignored", s.Ignored)
	c.add("excluded", s.Excluded)
	c.add("hidden", s.Hidden)
	c.add("denied", s.Denied)
	c.add("unreadable", s.Unreadable)
	c.add("links", s.Links)
	c.add("special", s.Special)
	return c
}

func (c counts) add(reason string, n int) {
	if n > 0 {
		c[reason] += n
	}
}

// note is the counts in a line; nothing where nothing was left out.
func (c counts) note() string {
	var parts []string
	for _, r := range reasons {
		if n := c[r.key]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r.text))
		}
	}
	if parts == nil {
		return ""
	}
	return "[left out: " + strings.Join(parts, ", ") + "]"
}
