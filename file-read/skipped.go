package main

import (
	"fmt"
	"strings"

	"github.com/multiollama/mcp-server/file-read/internal/walk"
)

// counts is what an answer left out, by reason, so that "not found" is never
// unexplained. Reasons that did not occur are absent.
type counts map[string]int

// reasons are all there are, in the order in which they are listed.
var reasons = []struct{ key, one, more string }{
	{"ignored", "excluded by .gitignore", "excluded by .gitignore"},
	{"excluded", "excluded by the call", "excluded by the call"},
	{"hidden", "hidden", "hidden"},
	{"denied", "denied by the operator", "denied by the operator"},
	{"unreadable", "unreadable", "unreadable"},
	{"links", "symbolic link not followed", "symbolic links not followed"},
	{"special", "special file", "special files"},
	{"binary", "binary file", "binary files"},
	{"tooLarge", "file too large for multiline", "files too large for multiline"},
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
		switch n := c[r.key]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+r.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, r.more))
		}
	}
	if parts == nil {
		return ""
	}
	return "[left out: " + strings.Join(parts, ", ") + "]"
}
