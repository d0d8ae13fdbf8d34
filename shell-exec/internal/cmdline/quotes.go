package cmdline

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bareBackquote begins a text that has a backquote without a backslash before it.
var bareBackquote = regexp.MustCompile("(?s)^(?:[^\\\\`]|\\\\.)*`")

// readDifferently finds what the parser takes in another way than shells do: quotes in an
// expansion that is itself in quotes, and where a here-document ends.
func readDifferently(file *syntax.File, text string) error {
	if !strings.Contains(text, "${") && !strings.Contains(text, "<<") && !strings.Contains(text, "`") {
		return nil
	}
	var found error
	at := func(n syntax.Node, why string) {
		if found == nil {
			found = &Unreadable{Offset: int(n.Pos().Offset()), Why: why}
		}
	}
	nested := 0 // command substitutions around
	var visit func(syntax.Node) bool
	inside := func(statements []*syntax.Stmt) bool {
		nested++
		for _, s := range statements {
			syntax.Walk(s, visit)
		}
		nested--
		return false
	}
	visit = func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DblQuoted:
			quotes(n.Parts, false, at)
		case *syntax.CmdSubst:
			if n.Backquotes && bareBackquote.MatchString(text[n.Left.Offset()+1:n.Right.Offset()]) {
				at(n, "a backquote in quotes in backquotes, where it ends them all the same")
			}
			return inside(n.Stmts)
		case *syntax.ProcSubst:
			return inside(n.Stmts)
		case *syntax.Redirect:
			if n.Hdoc == nil {
				break
			}
			quotes(n.Hdoc.Parts, true, at)
			if endsEarly(n, text, nested > 0) {
				at(n, "a here-document that may end before its last line")
			}
		}
		return true
	}
	syntax.Walk(file, visit)
	return found
}

// quoteless are the operators after which, in double quotes, a single quote quotes nothing.
var quoteless = []syntax.ParExpOperator{syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
	syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull}

// quotes looks at the expansions among the parts of a quoted text: "${x:-'$(a)'}" runs a.
func quotes(parts []syntax.WordPart, document bool, at func(syntax.Node, string)) {
	for _, part := range parts {
		p, ok := part.(*syntax.ParamExp)
		if !ok || !document && (p.Exp == nil || !slices.Contains(quoteless, p.Exp.Op)) {
			continue
		}
		syntax.Walk(p, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst:
				return false
			case *syntax.SglQuoted:
				if strings.ContainsAny(n.Value, "$`\\\"{}") {
					at(n, "quotes in an expansion in quotes, which are none to the shell")
				}
			}
			return true
		})
	}
}

// endsEarly: in a substitution, a line that begins with the last one's word and holds the substitution's end ends both.
// Where the word is not quoted, a backslash joins lines before they are compared.
func endsEarly(d *syntax.Redirect, text string, nested bool) bool {
	from, to := int(d.Hdoc.Pos().Offset()), int(d.Hdoc.End().Offset())
	if from < 0 || to > len(text) || from > to {
		return true
	}
	written := text[d.Word.Pos().Offset():d.Word.End().Offset()]
	word, body := strings.NewReplacer("'", "", `"`, "", `\`, "", "$", "").Replace(written), text[from:to]
	if word == written {
		body = strings.ReplaceAll(body, "\\\n", "")
	}
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(strings.TrimLeft(line, "\t"), "\n")
		rest, begins := strings.CutPrefix(line, word)
		if line == word && body != text[from:to] || nested && (strings.Contains(line, "`") || begins && strings.Contains(rest, ")")) {
			return true
		}
	}
	return false
}

var (
	// quoteWithin is a quote in ${…}, which the shell may take for a letter; bracket a pattern that it may not know.
	quoteWithin = regexp.MustCompile(`\$\{[^}]*['"]`)
	bracket     = regexp.MustCompile(`[?*+@!]\(`)
	// document is a line that begins a here-document, and nothing else that continues after it.
	document = regexp.MustCompile(`^[^(){}<"'#\\]*<<-?[ \t]*('[\w.-]+'|"[\w.-]+"|[\w.-]+)[^(){}<"'#\\]*$`)
	expands  = regexp.MustCompile(`\$[{(\[]|\\$`)
)

// perhapsComplete says that a text that continues to the parser may be at its end to a shell:
// what is typed next would be run as a line of its own.
func perhapsComplete(text string) bool {
	if strings.Contains(text, "`") || quoteWithin.MatchString(text) || bracket.MatchString(text) {
		return true
	}
	text = strings.ReplaceAll(text, "<<<", "")
	if !strings.Contains(text, "<<") {
		return false
	}
	first, body, _ := strings.Cut(text, "\n")
	m := document.FindStringSubmatch(first)
	if m == nil || strings.Contains(body, "<<") {
		return true
	}
	word := strings.Trim(m[1], `'"`)
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(strings.TrimLeft(line, "\t"), "\n")
		if word == m[1] && expands.MatchString(line) || strings.HasPrefix(line, word) {
			return true
		}
	}
	return false
}
