package cmdline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTyped is how long a line may be that is typed: a terminal keeps no more of one.
const maxTyped = 4000

// AtPrompt reports why a text that is typed at a shell's prompt would be taken otherwise
// than the same text in a script: by the line editor, or by history expansion. Each line is
// looked at with the quotes that are open where it begins, and as if none were: shells
// differ in which of the two they do.
func AtPrompt(text string, g Grammar) error {
	if !utf8.ValidString(text) {
		return &Unreadable{Why: "bytes that are no text, which a line editor may take for keys"}
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); at >= 0 {
		return &Unreadable{Offset: at, Why: "a control character, which is a key to a line editor"}
	}
	start, quote := 0, byte(0)
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > maxTyped {
			return &Unreadable{Offset: start, Why: "a line that is longer than a terminal takes"}
		}
		if g != POSIX {
			fresh, _ := recalls(line, 0, g)
			carried, open := recalls(line, quote, g)
			if fresh || carried {
				return &Unreadable{Offset: start, Why: "an expansion of the shell's history: a ! or a ^ that is not quoted"}
			}
			quote = open
		}
		start += len(line) + 1
	}
	if rest := strings.TrimRight(text, `\`); (len(text)-len(rest))%2 == 1 {
		return &Unreadable{Offset: len(rest), Why: "a backslash at the end, which joins it with the next line", Incomplete: true}
	}
	return nil
}

// recalls says whether the line names an earlier one, and which quote is open at its end.
func recalls(line string, quote byte, g Grammar) (bool, byte) {
	if quote == 0 && strings.HasPrefix(line, "^") {
		return true, quote
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' && quote != '"', c == '"' && quote != '\'':
			quote ^= c
		case quote == '\'':
		case c == '\\':
			i++
		case c == '!' && !literalMark(line, i, quote, g):
			return true, quote
		}
	}
	return false, quote
}

// literalMark: a ! before a blank or = is one, and so is that of $!, ${! and [!.
func literalMark(line string, i int, quote byte, g Grammar) bool {
	if i+1 == len(line) || strings.IndexByte(" \t=", line[i+1]) >= 0 {
		return true
	}
	switch {
	case g != Bash:
		return false
	case quote == '"' && line[i+1] == '"':
		return true
	case i > 0 && line[i-1] == '[':
		return strings.Contains(line[i+1:], "]")
	case i > 1 && line[i-2:i] == "${":
		return strings.Contains(line[i+1:], "}")
	}
	return i > 1 && line[i-1] == '$'
}
