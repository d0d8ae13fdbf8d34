package match

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/fault"
)

type feature struct{ spelling, name, instead string }

// foreign is syntax of other regular expression engines that RE2 leaves out,
// because it cannot be matched in linear time or is written another way.
var foreign = []feature{
	{"(?=", "lookahead", "Match the text itself without the lookahead and look at the lines that come back"},
	{"(?!", "negative lookahead", "Match more than is wanted and leave out the lines that do not fit"},
	{"(?<=", "lookbehind", "Match the text before it too, without the lookbehind"},
	{"(?<!", "negative lookbehind", "Match more than is wanted and leave out the lines that do not fit"},
	{"(?>", "an atomic group", "Use (?:…) instead: matching is linear in time anyway"},
	{"(?P=", "a backreference", "Spell the repeated text out"},
	{"(?#", "a comment", "Leave the comment out"},
	{"(?x", "the flag x", "Leave the flag and the extra white space out"},
	{"(?R)", "recursion", "Spell out as many levels as are needed"},
	{`\k`, "a backreference", "Spell the repeated text out"},
	{`\K`, `\K`, "Match the text before it too"},
	{`\Z`, `\Z`, `Use $ or \z`},
	{`\h`, `\h`, `Use [ \t]`},
	{`\R`, `\R`, `Use $ for the end of a line`},
	{`\<`, "the word border \\<", `Use \b`},
	{`\>`, "the word border \\>", `Use \b`},
	{"++", "a possessive repetition", "Use a single +: matching is linear in time anyway"},
	{"*+", "a possessive repetition", "Use a single *: matching is linear in time anyway"},
	{"?+", "a possessive repetition", "Use a single ?: matching is linear in time anyway"},
}

// plainly has the kinds of mistakes in words. The fragment follows.
var plainly = map[syntax.ErrorCode]string{
	syntax.ErrInvalidCharClass:      "the character class is not valid",
	syntax.ErrInvalidCharRange:      "there is no such character range or class",
	syntax.ErrInvalidEscape:         "there is no such escape",
	syntax.ErrInvalidNamedCapture:   "the name of the group is not valid",
	syntax.ErrInvalidPerlOp:         "there is no such group or flag",
	syntax.ErrInvalidRepeatOp:       "a repetition is repeated",
	syntax.ErrInvalidRepeatSize:     "the repeat count is not valid (it is at most 1000)",
	syntax.ErrInvalidUTF8:           "the pattern is not valid UTF-8",
	syntax.ErrMissingBracket:        "a [ is never closed",
	syntax.ErrMissingParen:          "a ( is never closed",
	syntax.ErrMissingRepeatArgument: "there is nothing to repeat",
	syntax.ErrTrailingBackslash:     "the pattern ends in a single backslash",
	syntax.ErrUnexpectedParen:       "a ) closes nothing",
	syntax.ErrNestingDepth:          "the pattern is nested too deeply",
	syntax.ErrLarge:                 "the pattern is too large",
}

// explain turns an error of regexp/syntax into words with a place.
func explain(expr string, err error) error {
	bad, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return fault.New(fault.ParamInvalid, "the pattern is not a regular expression", "").Because(err)
	}
	at, fragment := place(expr, bad)
	msg := fmt.Sprintf("the pattern is not a regular expression: %s, at character %d: %s", plainly[bad.Code], number(expr, at), strconv.Quote(short(fragment)))
	do := "Write a backslash before characters that stand for themselves, or search for fixed text"
	if f, ok := foreignAt(expr[at:]); ok {
		msg = fmt.Sprintf("the pattern uses %s (at character %d), which RE2 does not have", f.name, number(expr, at))
		do = f.instead
	}
	return fault.New(fault.ParamInvalid, msg, do).With("at", number(expr, at)).Because(err)
}

// place is the byte where the mistake is, and the text from there.
func place(expr string, bad *syntax.Error) (int, string) {
	switch bad.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		at := oddParen(expr)
		return at, expr[at:]
	case syntax.ErrTrailingBackslash:
		return len(expr) - 1, `\`
	}
	return max(0, strings.Index(expr, bad.Expr)), bad.Expr
}

// foreignAt is the feature that another engine would see at the start of rest.
func foreignAt(rest string) (feature, bool) {
	for _, f := range foreign {
		if strings.HasPrefix(rest, f.spelling) {
			return f, true
		}
	}
	if len(rest) > 1 && rest[0] == '\\' && '1' <= rest[1] && rest[1] <= '9' {
		return feature{rest[:2], "a backreference", "Spell the repeated text out"}, true
	}
	return feature{}, false
}

// oddParen is the byte of the first parenthesis without a partner.
func oddParen(expr string) int {
	var open []int
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case '[':
			i = afterClass(expr, i)
		case '(':
			open = append(open, i)
		case ')':
			if len(open) == 0 {
				return i
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0
	}
	return open[len(open)-1]
}

// afterClass is the byte of the ] that closes the class that begins at i.
func afterClass(expr string, i int) int {
	j := i + 1
	if strings.HasPrefix(expr[j:], "^") {
		j++
	}
	for first := true; j < len(expr) && (first || expr[j] != ']'); j++ {
		first = false
		if expr[j] == '\\' {
			j++
		}
	}
	return min(j, len(expr)-1)
}

// number is that of the character at byte i, from 1.
func number(expr string, i int) int {
	return utf8.RuneCountInString(expr[:i]) + 1
}

func short(fragment string) string {
	const limit = 40
	if len(fragment) <= limit {
		return fragment
	}
	return strings.ToValidUTF8(fragment[:limit], "") + "…"
}
