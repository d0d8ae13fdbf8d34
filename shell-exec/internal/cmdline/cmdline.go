// Package cmdline reads a command line in the grammar of the shell that will run it,
// or reports why that cannot be done with certainty.
//
// It rejects what the shell and the parser are known to read differently, because what
// is checked must be what runs: a carriage return, a NUL, a # right after a word, text
// right after >&-. It rejects what is so long or so deeply nested that reading it would
// use up the stack, which Go cannot recover from. Of zsh and fish it reads only words
// that mean the same in every shell. It runs nothing, expands nothing that is not in the
// text, and accesses memory only.
//
// It is a package of its own because effect and policy both work on its words.
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
	Zsh   // only words that mean the same in every shell
	Fish  // the same
)

// MaxLength is how long a script may be: bash -c itself rejects 128 KiB.
const MaxLength = 128<<10 - 1

// How deep brackets may nest, and how many && and | there may be: each is one level
// above the one before it in the tree.
const (
	maxNesting   = 400
	maxOperators = 5_000
	maxBlankings = 20
)

// Unreadable reports why a text cannot be read, and where.
type Unreadable struct {
	Offset     int
	Why        string
	Incomplete bool // more text could make it readable
}

func (u *Unreadable) Error() string { return fmt.Sprintf("%s (byte %d)", u.Why, u.Offset) }

// Parse reads a script. An error is always an *Unreadable.
func Parse(text string, g Grammar) (*syntax.File, error) {
	if g < Bash || g > Fish {
		return nil, &Unreadable{Why: "the grammar of the shell is not known"}
	}
	if err := unfit(text); err != nil {
		return nil, err
	}
	if g == Zsh || g == Fish {
		if err := notPortable(text, g); err != nil {
			return nil, err
		}
	}
	variant := syntax.LangPOSIX
	if g == Bash {
		variant = syntax.LangBash
	}
	file, err := parse(text, variant)
	if err != nil || !strings.Contains(text, "#") {
		return file, err
	}

	// The parser continues a comment over a backslash at a line's end, bash does not.
	for range maxBlankings {
		blanked, ambiguous := blankComments(file, text)
		if ambiguous >= 0 {
			return nil, &Unreadable{Offset: ambiguous, Why: "# directly after a word, which the shell may read as a part of the command"}
		}
		if blanked == text {
			return file, nil
		}
		if file, err = parse(blanked, variant); err != nil {
			return nil, err
		}
		text = blanked
	}
	return nil, &Unreadable{Why: "comments end in backslashes again and again"}
}

func parse(text string, variant syntax.LangVariant) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err == nil {
		if err = readDifferently(file, text); err != nil {
			return nil, err
		}
		return file, nil
	}
	var pe syntax.ParseError
	if !errors.As(err, &pe) {
		return nil, &Unreadable{Why: err.Error()}
	}
	incomplete := syntax.IsIncomplete(err) || strings.HasPrefix(pe.Text, "unclosed here-document")
	return nil, &Unreadable{min(int(pe.Pos.Offset()), len(text)), pe.Text, incomplete && !perhapsComplete(text)}
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
		return &Unreadable{Why: "there are too many && and |"}
	}
	var parens, braces int // quotes are not looked at: a script with that many brackets in a string is rejected as well
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
			return &Unreadable{Offset: i, Why: "it is nested too deeply"}
		}
	}
	return nil
}

// blankComments blanks the backslashes in each comment's first line, which is all of the
// comment to the shell. ambiguous is a # that follows neither blank nor operator, or -1:
// after a=(x) bash reads on and runs what the parser takes as a comment.
func blankComments(file *syntax.File, text string) (blanked string, ambiguous int) {
	b := []byte(text)
	ambiguous = -1
	syntax.Walk(file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.Comment)
		if !ok {
			return true
		}
		at := int(c.Hash.Offset())
		if ambiguous < 0 && at > 0 && at <= len(text) && !strings.ContainsRune(" \t\n;&|(", rune(text[at-1])) {
			ambiguous = at
		}
		for i := at; i < len(b) && b[i] != '\n'; i++ {
			if b[i] == '\\' {
				b[i] = ' '
			}
		}
		return true
	})
	return string(b), ambiguous
}
