package glob

import (
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// expand turns the braces of a pattern into the list of patterns without braces
// that it stands for, in order, as a shell does: a{b,c{d,e}} is ab, acd, ace.
// Braces within a class and after a backslash are plain characters.
func expand(pattern string) ([]string, *fault.Error) {
	e := &expander{text: pattern}
	out, err := e.sequence(0)
	if err == nil && e.pos < len(e.text) {
		err = bad("the pattern could not be read to its end", "")
	}
	return out, err
}

type expander struct {
	text string
	pos  int
}

// sequence reads up to the end, or at depth > 0 up to the comma or brace that
// ends the alternative.
func (e *expander) sequence(depth int) ([]string, *fault.Error) {
	out := []string{""}
	for e.pos < len(e.text) {
		var next []string
		var err *fault.Error
		switch c := e.text[e.pos]; {
		case depth > 0 && (c == ',' || c == '}'):
			return out, nil
		case c == '{':
			next, err = e.group(depth + 1)
		default:
			var token string
			token, err = e.token()
			next = []string{token}
		}
		if err == nil {
			out, err = product(out, next)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// group reads {…} from its opening brace to past its closing one.
func (e *expander) group(depth int) ([]string, *fault.Error) {
	var out []string
	for {
		e.pos++ // the brace or comma
		alternatives, err := e.sequence(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, alternatives...)
		if e.pos == len(e.text) {
			return nil, bad("the pattern has a { without a }", `Close it, or write \{ for the character itself`)
		}
		if e.text[e.pos] == '}' {
			e.pos++
			return out, nil
		}
	}
}

// token reads a run of ordinary characters, one escape, or one class.
func (e *expander) token() (string, *fault.Error) {
	start := e.pos
	switch e.text[e.pos] {
	case '\\':
		if e.pos+1 == len(e.text) {
			return "", bad(`the pattern ends in a lone \`, `Write \\ for the character itself`)
		}
		e.pos += 2
	case '[':
		end := classEnd(e.text, e.pos)
		if end < 0 {
			return "", bad("the pattern has a [ without a ]", `Close it, or write \[ for the character itself`)
		}
		e.pos = end
	default:
		e.pos++
		for e.pos < len(e.text) && strings.IndexByte(`\[{},`, e.text[e.pos]) < 0 {
			e.pos++
		}
	}
	return e.text[start:e.pos], nil
}

// classEnd is the position past the ] of the class that begins at start, or -1.
// A ] that stands first is a member, and an escaped one too.
func classEnd(text string, start int) int {
	i := start + 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i++
	}
	if i < len(text) && text[i] == ']' {
		i++
	}
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return -1
}

// product appends every one of b to every one of a, within maxExpanded bytes.
func product(a, b []string) ([]string, *fault.Error) {
	size := 0
	for _, x := range a {
		size += len(b) * (len(x) + 1)
	}
	for _, y := range b {
		size += len(a) * len(y)
	}
	if size > maxExpanded {
		return nil, bad("the braces of the pattern stand for too many alternatives", "Use fewer braces, or several calls")
	}
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out, nil
}
