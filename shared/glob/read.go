package glob

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// expand turns the braces of a pattern into the list of patterns without braces
// that it stands for, in order, as a shell does: a{b,c{d,e}} is ab, acd, ace.
// Braces within a class and after a backslash are plain characters.
func expand(pattern string) ([]string, error) {
	switch {
	case pattern == "":
		return nil, bad("the pattern is empty", "Use ** to match everything")
	case len(pattern) > MaxPattern:
		return nil, fault.New(fault.ParamInvalid, "the pattern is longer than 4096 bytes",
			"Use a shorter pattern").With("limit", MaxPattern)
	case !utf8.ValidString(pattern):
		return nil, bad("the pattern is not valid UTF-8", "Use ? for a byte that is not text")
	}
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
func (e *expander) sequence(depth int) ([]string, error) {
	out := []string{""}
	for e.pos < len(e.text) {
		var next []string
		var err error
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
func (e *expander) group(depth int) ([]string, error) {
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
func (e *expander) token() (string, error) {
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
func product(a, b []string) ([]string, error) {
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

// translate writes one pattern without braces as an RE2 expression. The
// expression is always valid: everything that comes from the pattern is quoted.
func translate(pattern string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		var n int
		var expr string
		var err error
		switch rest := pattern[i:]; {
		case rest == "/**": // what is under a directory, not the directory
			expr, n = `/.*`, 3
		case strings.HasPrefix(rest, "/**/"):
			expr, n = `(?:/.*)?`, 3
		case i == 0 && rest == "**":
			expr, n = `.*`, 2
		case i == 0 && strings.HasPrefix(rest, "**/"):
			expr, n = `(?:.*/)?`, 3
		case rest[0] == '*': // any number of stars within a component are one
			expr, n = `[^/]*`, len(rest)-len(strings.TrimLeft(rest, "*"))
		case rest[0] == '?':
			expr, n = `[^/]`, 1
		case rest[0] == '[':
			expr, n, err = class(pattern, i)
		case rest[0] == '\\':
			_, size := utf8.DecodeRuneInString(rest[1:])
			expr, n = regexp.QuoteMeta(rest[1:1+size]), 1+size
		default:
			_, n = utf8.DecodeRuneInString(rest)
			expr = regexp.QuoteMeta(rest[:n])
		}
		if err != nil {
			return "", err
		}
		b.WriteString(expr)
		i += n
	}
	return b.String(), nil
}

// class translates the class at i. A slash is never in it, not even in [!a].
func class(pattern string, i int) (expr string, n int, err error) {
	end := classEnd(pattern, i)
	body := pattern[i+1 : end-1]
	negated := body != "" && (body[0] == '!' || body[0] == '^')
	if negated {
		body = body[1:]
	}
	var members strings.Builder
	for body != "" {
		var low, high rune
		low, body = classRune(body)
		high = low
		if len(body) > 1 && body[0] == '-' {
			high, body = classRune(body[1:])
		}
		if high < low {
			return "", 0, bad("a class of the pattern has a range that runs backwards", "Write the lower character first, as in [a-z]")
		}
		writeRange(&members, low, min(high, '/'-1))
		writeRange(&members, max(low, '/'+1), high)
	}
	switch {
	case negated:
		return `[^/` + members.String() + `]`, end - i, nil
	case members.Len() == 0: // a class of nothing but a slash matches nothing
		return `[^\x{0}-\x{10FFFF}]`, end - i, nil
	}
	return `[` + members.String() + `]`, end - i, nil
}

func classRune(body string) (rune, string) {
	if body[0] == '\\' && len(body) > 1 {
		body = body[1:]
	}
	r, size := utf8.DecodeRuneInString(body)
	return r, body[size:]
}

// writeRange writes low-high in hexadecimal, where no character is special.
func writeRange(b *strings.Builder, low, high rune) {
	if low <= high {
		fmt.Fprintf(b, `\x{%X}-\x{%X}`, low, high)
	}
}
