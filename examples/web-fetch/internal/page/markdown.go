package page

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// markdown writes a tree. Cells are not padded: one that is long would make all the
// others of its column as long.
func markdown(n *html.Node) (string, error) {
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true)),
		strikethrough.NewStrikethroughPlugin(),
	))
	c.Register.TextTransformer(func(_ converter.Context, s string) string { return unescaped(s) }, converter.PriorityLate)
	out, err := c.ConvertNode(n)
	return string(out), err
}

// entity is what the converter writes for <, > and &, with as much of what follows as
// tells whether it has to.
var entity = regexp.MustCompile(`&amp;(#?[0-9A-Za-z]{1,32};)?|&lt;[A-Za-z/!?]?|&gt;`)

// unescaped writes <, > and & of a text as they are, where Markdown takes them for
// nothing else (CommonMark 0.31: entities, raw HTML, quotations).
func unescaped(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	quote := strings.HasPrefix(strings.TrimLeftFunc(s, unicode.IsSpace), "&gt;")
	return entity.ReplaceAllStringFunc(s, func(found string) string {
		switch {
		case quote:
			quote = false
			return found
		case found == "&amp;":
			return "&"
		case found == "&lt;":
			return "<"
		case found == "&gt;":
			return ">"
		case strings.HasPrefix(found, "&lt;"):
			return `\<` + found[len("&lt;"):]
		}
		return found
	})
}

// joined is a text without the line ends within a line of Chinese or Japanese, which are
// not shown (CSS Text 3, 4.1.3); all others are as good as spaces.
func joined(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	return lineEnd.ReplaceAllString(s, "$1$2")
}

var lineEnd = regexp.MustCompile(`([\p{Han}\p{Hiragana}\p{Katakana}、。，．！？：；「」『』（）ー・…])[ \t]*\r?\n\s*([\p{Han}\p{Hiragana}\p{Katakana}、。，．！？：；「」『』（）ー・…])`)
