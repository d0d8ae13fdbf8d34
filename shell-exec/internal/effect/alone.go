package effect

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// alone is the words of a text that is one simple command and nothing else: no list, no
// pipe, nothing in the background, no redirection or assignment, and no word that a shell
// would expand. Started without a shell, they do what the text does. Else it is nil.
func alone(text string, g cmdline.Grammar) []string {
	file, err := cmdline.Parse(text, g)
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	st := file.Stmts[0]
	c, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || st.Disown || len(st.Redirs) > 0 || len(c.Assigns) > 0 {
		return nil
	}
	var words []string
	for _, w := range c.Args {
		word, ok := asWritten(w)
		if !ok {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// asWritten is a word that stands for itself, without its quotes.
func asWritten(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `~*?[{\`) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				l, ok := inner.(*syntax.Lit)
				if !ok || p.Dollar || strings.Contains(l.Value, `\`) {
					return "", false
				}
				b.WriteString(l.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}
