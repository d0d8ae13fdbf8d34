package glob

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

// translate writes one pattern without braces as an RE2 expression. The
// expression is always valid: everything that comes from the pattern is quoted.
func translate(pattern string) (string, *fault.Error) {
	var b strings.Builder
	for i := 0; i < len(pattern); {
		var n int
		var expr string
		var err *fault.Error
		switch pattern[i] {
		case '*':
			expr, n = stars(pattern, i)
		case '/':
			expr, n = slash(pattern, i)
		case '?':
			expr, n = `[^/]`, 1
		case '[':
			expr, n, err = class(pattern, i)
		case '\\':
			_, size := utf8.DecodeRuneInString(pattern[i+1:])
			expr, n = regexp.QuoteMeta(pattern[i+1:i+1+size]), 1+size
		default:
			_, n = utf8.DecodeRuneInString(pattern[i:])
			expr = regexp.QuoteMeta(pattern[i : i+n])
		}
		if err != nil {
			return "", err
		}
		b.WriteString(expr)
		i += n
	}
	return b.String(), nil
}

// stars translates the run of stars at i, which follows no slash or begins the
// pattern. Only at the very beginning can it be a ** component: slash takes the others.
func stars(pattern string, i int) (expr string, n int) {
	for i+n < len(pattern) && pattern[i+n] == '*' {
		n++
	}
	switch {
	case i > 0 || n != 2:
		return `[^/]*`, n
	case n == len(pattern):
		return `.*`, n
	case pattern[n] == '/':
		return `(?:.*/)?`, n + 1
	}
	return `[^/]*`, n
}

// slash translates the slash at i together with a ** component that follows it:
// a/**/b matches a/b, but a/** only what is beneath a, as in a shell and in git.
func slash(pattern string, i int) (expr string, n int) {
	switch rest := pattern[i+1:]; {
	case rest == "**":
		return `/.*`, 3
	case strings.HasPrefix(rest, "**/"):
		return `(?:/.*)?`, 3
	}
	return `/`, 1
}

// class translates the class at i. A slash is never in it, not even in [!a].
func class(pattern string, i int) (expr string, n int, err *fault.Error) {
	end := classEnd(pattern, i)
	body := pattern[i+1 : end-1]
	negated := body != "" && (body[0] == '!' || body[0] == '^')
	if negated {
		body = body[1:]
	}
	members, err := classMembers(body)
	if err != nil {
		return "", 0, err
	}
	if negated {
		return `[^/` + members + `]`, end - i, nil
	}
	if members == "" { // a class of nothing but a slash matches nothing
		return `[^\x{0}-\x{10FFFF}]`, end - i, nil
	}
	return `[` + members + `]`, end - i, nil
}

// classMembers writes the characters and ranges of a class for RE2, the slash left out.
func classMembers(body string) (string, *fault.Error) {
	var b strings.Builder
	for body != "" {
		var low, high rune
		low, body = classRune(body)
		high = low
		if len(body) > 1 && body[0] == '-' {
			high, body = classRune(body[1:])
		}
		if high < low {
			return "", bad("a class of the pattern has a range that runs backwards", "Write the lower character first, as in [a-z]")
		}
		writeRange(&b, low, min(high, '/'-1))
		writeRange(&b, max(low, '/'+1), high)
	}
	return b.String(), nil
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
