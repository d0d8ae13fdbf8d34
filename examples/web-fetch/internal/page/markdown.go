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
	c.Register.TextTransformer(func(_ converter.Context, s string) string { return entity.ReplaceAllString(s, "&amp;$1") }, converter.PriorityEarly)
	c.Register.TextTransformer(func(_ converter.Context, s string) string { return unescaped(s) }, converter.PriorityLate)
	out, err := c.ConvertNode(n)
	return string(out), err
}

var (
	entity = regexp.MustCompile(`&(#?[0-9A-Za-z]{1,32};)`) // what Markdown takes for a character
	angle  = regexp.MustCompile(`&lt;[A-Za-z/!?]?|&gt;`)   // what the converter writes for < and >, with what may follow in a tag
)

// unescaped writes < and > of a text as they are, where Markdown takes them for nothing
// else (CommonMark 0.31: raw HTML, quotations).
func unescaped(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	quote := strings.HasPrefix(strings.TrimLeftFunc(s, unicode.IsSpace), "&gt;")
	return angle.ReplaceAllStringFunc(s, func(found string) string {
		switch {
		case found == "&gt;" && quote:
			quote = false
			return found
		case found == "&gt;":
			return ">"
		case found == "&lt;":
			return "<"
		}
		return `\<` + found[len("&lt;"):]
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
