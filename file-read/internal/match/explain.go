package match

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
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

// mistakes are the kinds of mistakes in words. The fragment follows.
var mistakes = map[syntax.ErrorCode]string{
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
	at, fragment := max(0, strings.Index(expr, bad.Expr)), bad.Expr
	switch bad.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		at = unmatchedParen(expr)
		fragment = expr[at:]
	case syntax.ErrTrailingBackslash:
		at, fragment = len(expr)-1, `\`
	}
	const limit = 40 // bytes of the expression that are quoted
	if len(fragment) > limit {
		fragment = strings.ToValidUTF8(fragment[:limit], "") + "…"
	}
	character := utf8.RuneCountInString(expr[:at]) + 1
	msg := fmt.Sprintf("the pattern is not a regular expression: %s, at character %d: %s",
		mistakes[bad.Code], character, strconv.Quote(fragment))
	do := "Write a backslash before characters that stand for themselves, or search for fixed text"
	rest := expr[at:]
	i := slices.IndexFunc(foreign, func(f feature) bool { return strings.HasPrefix(rest, f.spelling) })
	var f feature
	switch {
	case i >= 0:
		f = foreign[i]
	case len(rest) > 1 && rest[0] == '\\' && '1' <= rest[1] && rest[1] <= '9':
		f = feature{rest[:2], "a backreference", "Spell the repeated text out"}
	}
	if f.name != "" {
		msg = fmt.Sprintf("the pattern uses %s (at character %d), which RE2 does not have", f.name, character)
		do = f.instead
	}
	return fault.New(fault.ParamInvalid, msg, do).With("at", character).Because(err)
}

// unmatchedParen is the byte of the first parenthesis without a partner.
func unmatchedParen(expr string) int {
	var open []int
	for i := 0; i < len(expr); i++ {
		switch expr[i] {
		case '\\':
			i++
		case '[': // on to the ] that closes the class
			i++
			if strings.HasPrefix(expr[i:], "^") {
				i++
			}
			for first := true; i < len(expr) && (first || expr[i] != ']'); i++ {
				first = false
				if expr[i] == '\\' {
					i++
				}
			}
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
