// Package cmdline reads a command line in the grammar of the shell that will run it,
// or says why that cannot be done with certainty.
//
// It refuses what the shell and the parser are known to read differently, because what
// is judged must be what runs: a carriage return, a NUL, a # right after a word, text
// right after >&-. It refuses what is so long or so deeply nested that reading it would
// use up the stack, which Go cannot recover from. Of zsh and fish it reads only plain
// words, which mean the same in every shell. It runs nothing, expands nothing that is not
// in the text, and touches memory only.
package cmdline

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Grammar is the language of a shell. The zero Grammar reads nothing.
type Grammar int

// The grammars that can be read.
const (
	_ Grammar = iota
	Bash
	POSIX // what /bin/sh is where it is not bash: dash, ash
	Zsh   // plain words only
	Fish  // plain words only
)

// MaxLength is how long a script may be: bash -c itself refuses 128 KiB.
const MaxLength = 128<<10 - 1

// How deep brackets may nest, and how many && and | there may be: each stands one level
// above the one before it in the tree.
const (
	maxNesting   = 400
	maxOperators = 5_000
	maxBlankings = 20
)

// Unreadable says why a text cannot be read, and where.
type Unreadable struct {
	Offset     int
	Why        string
	Incomplete bool // more text could make it readable
}

func (u *Unreadable) Error() string { return fmt.Sprintf("%s (byte %d)", u.Why, u.Offset) }

// Parse reads a script. An error is always an *Unreadable.
func Parse(text string, g Grammar) (*syntax.File, error) {
	variant, ok := g.variant()
	if !ok {
		return nil, &Unreadable{Offset: 0, Why: "the grammar of the shell is not known"}
	}
	if err := unfit(text); err != nil {
		return nil, err
	}
	if g == Zsh || g == Fish {
		if err := plainOnly(text, g); err != nil {
			return nil, err
		}
	}
	file, err := parse(text, variant)
	if err != nil {
		return nil, err
	}
	// The parser continues a comment over a backslash at a line's end, bash does not.
	if !strings.Contains(text, "#") {
		return file, nil
	}
	for range maxBlankings {
		comments := commentsOf(file)
		if at := ambiguousComment(text, comments); at >= 0 {
			return nil, &Unreadable{Offset: at, Why: "# directly after a word, which the shell may read as a part of the command"}
		}
		blanked := withoutBackslashes(text, comments)
		if blanked == text {
			return file, nil
		}
		if file, err = parse(blanked, variant); err != nil {
			return nil, err
		}
		text = blanked
	}
	return nil, &Unreadable{Offset: 0, Why: "comments end in backslashes again and again"}
}

func (g Grammar) variant() (syntax.LangVariant, bool) {
	switch g {
	case Bash:
		return syntax.LangBash, true
	case POSIX, Zsh, Fish: // of the last two only what means the same here
		return syntax.LangPOSIX, true
	}
	return 0, false
}

func parse(text string, variant syntax.LangVariant) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err == nil {
		return file, otherwise(file, text)
	}
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		incomplete := syntax.IsIncomplete(err) || strings.HasPrefix(pe.Text, "unclosed here-document")
		incomplete = incomplete && !perhapsComplete(text)
		return nil, &Unreadable{min(int(pe.Pos.Offset()), len(text)), pe.Text, incomplete}
	}
	return nil, &Unreadable{Why: err.Error()}
}

// unfit finds what must not reach the parser.
func unfit(text string) error {
	if len(text) > MaxLength {
		return &Unreadable{Offset: MaxLength, Why: "the script is longer than a shell takes"}
	}
	if at := strings.IndexByte(text, 0); at >= 0 {
		return &Unreadable{Offset: at, Why: "a NUL byte"}
	}
	if at := strings.IndexByte(text, '\r'); at >= 0 {
		return &Unreadable{Offset: at, Why: "a carriage return, which the shell takes as an ordinary character"}
	}
	if at := strings.IndexFunc(text, IsMark); at >= 0 {
		return &Unreadable{Offset: at, Why: "a character of the private use area"}
	}
	if strings.Count(text, "&&")+strings.Count(text, "|") > maxOperators {
		return &Unreadable{Offset: 0, Why: "there are too many && and |"}
	}
	if at := tooDeep(text); at >= 0 {
		return &Unreadable{Offset: at, Why: "it is nested too deeply"}
	}
	return nil
}

// tooDeep is where the brackets open more than maxNesting deep, or -1. Quotes are not
// looked at: a script with that many brackets in a string is refused as well.
func tooDeep(text string) int {
	var parens, braces int
	for i := range len(text) {
		switch text[i] {
		case '(':
			parens++
		case ')':
			parens = max(parens-1, 0)
		case '{':
			braces++
		case '}':
			braces = max(braces-1, 0)
		}
		if parens > maxNesting || braces > maxNesting {
			return i
		}
	}
	return -1
}

func commentsOf(file *syntax.File) []*syntax.Comment {
	var all []*syntax.Comment
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			all = append(all, c)
		}
		return true
	})
	return all
}

// ambiguousComment finds a # that follows neither blank nor operator: after a=(x) bash
// reads on and runs what the parser takes as a comment.
func ambiguousComment(text string, comments []*syntax.Comment) int {
	for _, c := range comments {
		at := int(c.Hash.Offset())
		if at > 0 && at <= len(text) && !strings.ContainsRune(" \t\n;&|(", rune(text[at-1])) {
			return at
		}
	}
	return -1
}

// withoutBackslashes blanks those that stand in a comment's first line, which is all of
// it to the shell.
func withoutBackslashes(text string, comments []*syntax.Comment) string {
	b := []byte(text)
	for _, c := range comments {
		for i := int(c.Hash.Offset()); i < len(b) && b[i] != '\n'; i++ {
			if b[i] == '\\' {
				b[i] = ' '
			}
		}
	}
	return string(b)
}
