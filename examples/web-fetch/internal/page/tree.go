package page

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxLink  = 1000    // bytes of a link
	maxLinks = 2 << 20 // bytes of all links of a page
	maxImage = 300     // bytes of the source of an image
	maxNest  = 8       // lists and quotations within one another: each level is written again for all below
	maxCells = 20_000  // of a table: its rows times its columns
	maxSpan  = 20      // columns or rows of one cell
)

// read makes an article of HTML. Where its structure is too much, for us or for a library
// that panics, it is the text.
func read(content string, from *url.URL) (a Article) {
	if _, bearable := weigh(content); !bearable {
		return plain(content)
	}
	defer func() {
		if recover() != nil {
			a = plain(content)
		}
	}()
	doc, err := html.Parse(strings.NewReader(content))
	if err == nil {
		a, err = extract(doc, from)
	}
	if err != nil {
		return plain(content)
	}
	return a
}

// extract returns the main text of a page, or where there is none worth more than the
// page, all of it.
func extract(doc *html.Node, from *url.URL) (Article, error) {
	c := cleaner{base: from}
	c.clean(doc)
	parser := readability.NewParser()
	parser.ClassesToPreserve = append(parser.ClassesToPreserve, c.languages...)
	found, err := parser.ParseDocument(doc, c.base)
	if err != nil {
		return Article{}, err
	}
	a := Article{Title: found.Title(), Author: found.Byline(), Form: Main, LeftOut: c.out}
	main := found.Node
	found.Node = nil // the excerpt is then of the page's own words about itself
	a.Description = found.Excerpt()
	if main != nil {
		if n := letters(main); n < 140 || n < 500 && n*10 < letters(doc) {
			main = nil
		}
	}
	if main == nil {
		a.Form, main = Whole, doc
		for _, n := range slices.Collect(doc.Descendants()) {
			switch n.DataAtom {
			case atom.Nav, atom.Aside, atom.Footer, atom.Noscript, atom.Button:
				n.Parent.RemoveChild(n)
			}
		}
	}

	// Cells are not padded: one that is long would make all the others of its column as long.
	m := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true)),
		strikethrough.NewStrikethroughPlugin(),
	))
	escaped := func(_ converter.Context, s string) string { return entity.ReplaceAllString(s, "&amp;$1") }
	m.Register.TextTransformer(escaped, converter.PriorityEarly)
	m.Register.TextTransformer(func(_ converter.Context, s string) string { return unescaped(s) }, converter.PriorityLate)
	out, err := m.ConvertNode(main)
	a.Markdown = strings.TrimPrefix(string(out), "# "+a.Title+"\n")
	return a, err
}

// letters counts what there is to read.
func letters(n *html.Node) int {
	count := 0
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !unread[d.Parent.DataAtom] {
			for _, r := range d.Data {
				if !unicode.IsSpace(r) {
					count++
				}
			}
		}
	}
	return count
}

var (
	entity = regexp.MustCompile(`&(#?[0-9A-Za-z]{1,32};)`) // what Markdown reads as a character
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

// cleaner makes a tree fit for its next reader: nothing hidden in it, links absolute, and
// no element that makes more of itself than it is.
type cleaner struct {
	base      *url.URL
	out       LeftOut
	links     int      // bytes so far
	nest      int      // lists and quotations that are open
	pre       int      // texts that are open whose line ends count
	languages []string // classes that name the language of code
}

// clean works on what is within n. It removes what a reader sees nothing of, except
// scripts for now: there are descriptions in some.
func (c *cleaner) clean(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		element := child.Type == html.ElementNode
		switch {
		case child.Type == html.CommentNode, element && unread[child.DataAtom] && child.DataAtom != atom.Script:
			n.RemoveChild(child)
		case element && hidden(child.DataAtom, child.Attr):
			c.out.Hidden++
			n.RemoveChild(child)
		default:
			c.node(child)
		}
		child = next
	}
}

func (c *cleaner) node(n *html.Node) {
	// The line ends within a line of Chinese or Japanese are not shown (CSS Text 3, 4.1.3);
	// all others are as good as spaces.
	if n.Type == html.TextNode && c.pre == 0 && strings.Contains(n.Data, "\n") {
		n.Data = lineEnd.ReplaceAllString(n.Data, "$1$2")
	}
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote:
		c.nest++
		defer func() { c.nest-- }()
	case atom.Pre:
		c.pre++
		defer func() { c.pre-- }()
	}
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote, atom.Li:
		if c.nest > maxNest {
			rename(n, atom.Div)
		}
	case atom.Code, atom.Pre:
		c.language(n)
	case atom.Base:
		if u, err := c.base.Parse(attribute(n, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			c.base = u
		}
	case atom.A:
		c.link(n)
	case atom.Img:
		c.image(n)
	case atom.Table:
		fitTable(n)
	}
	c.clean(n)
}

var lineEnd = func() *regexp.Regexp {
	const dense = `([\p{Han}\p{Hiragana}\p{Katakana}、。，．！？：；「」『』（）ー・…])`
	return regexp.MustCompile(dense + `[ \t]*\r?\n\s*` + dense)
}()

// language keeps the class of code by which its language is known, as in
// class="language-go".
func (c *cleaner) language(n *html.Node) {
	for class := range strings.FieldsSeq(attribute(n, "class")) {
		if strings.HasPrefix(class, "language-") && len(class) <= 32 && len(c.languages) < 16 && !slices.Contains(c.languages, class) {
			c.languages = append(c.languages, class)
		}
	}
}

// link makes a link absolute, or where it leads nowhere on the web, text.
func (c *cleaner) link(n *html.Node) {
	ref := attribute(n, "href")
	if ref == "" {
		return
	}
	if to, ok := c.absolute(ref, maxLink); ok {
		n.Attr = []html.Attribute{{Key: "href", Val: to}}
		return
	}
	c.out.Links++
	n.Attr = nil
	rename(n, atom.Span)
}

func (c *cleaner) absolute(ref string, maxBytes int) (string, bool) {
	if len(ref) > maxBytes {
		return "", false
	}
	u, err := c.base.Parse(strings.TrimSpace(ref))
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel":
	default:
		return "", false
	}
	to := u.String()
	c.links += len(to)
	return to, len(to) <= maxBytes && c.links <= maxLinks
}

// image makes the source of an image absolute, also where a script would put it in its
// place later. Of one that is within the page, or has a source of great length, only the
// description stays.
func (c *cleaner) image(n *html.Node) {
	src, alt := attribute(n, "src"), attribute(n, "alt")
	if src == "" || strings.HasPrefix(src, "data:") {
		src = cmp.Or(attribute(n, "data-src"), attribute(n, "data-original"), attribute(n, "data-lazy-src"), src)
	}
	if to, ok := c.absolute(src, maxImage); ok && src != "" {
		n.Attr = []html.Attribute{{Key: "src", Val: to}, {Key: "alt", Val: alt}}
		return
	}
	if src != "" {
		c.out.Images++
	}
	n.Type, n.DataAtom, n.Attr, n.Data = html.TextNode, 0, nil, ""
	if strings.TrimSpace(alt) != "" {
		n.Data = "[image: " + alt + "]"
	}
}

func rename(n *html.Node, to atom.Atom) { n.Data, n.DataAtom = to.String(), to }

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// fitTable makes a table fit to be drawn. Every row has as many columns as the longest, so
// that a few long ones could make a table of any size; such a one becomes paragraphs.
func fitTable(table *html.Node) {
	rows, columns, headed := 0, 0, false
	parts(table, func(n *html.Node) {
		switch n.DataAtom {
		case atom.Tr:
			rows++
			columns = max(columns, cells(n))
		case atom.Td, atom.Th:
			headed = headed || n.DataAtom == atom.Th
			for i, a := range n.Attr {
				if a.Key == "colspan" || a.Key == "rowspan" {
					n.Attr[i].Val = strconv.Itoa(span(a.Val))
				}
			}
		}
	})
	switch {
	case rows*columns > maxCells, columns <= 1: // one column is no table
		parts(table, func(n *html.Node) {
			switch n.DataAtom {
			case atom.Tr:
				rename(n, atom.P)
			case atom.Td, atom.Th, atom.Thead, atom.Tbody, atom.Tfoot:
				rename(n, atom.Span)
			}
		})
		rename(table, atom.Div)
	case headed: // of data, not of layout: a bar in code would end its cell
		parts(table, func(n *html.Node) {
			if n.Type == html.TextNode && n.Parent.DataAtom == atom.Code && n.Parent.Parent.DataAtom != atom.Pre {
				n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
			}
		})
	}
}

func cells(row *html.Node) (n int) {
	for cell := range row.ChildNodes() {
		if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
			n += span(attribute(cell, "colspan"))
		}
	}
	return n
}

// span is how many columns or rows a cell takes, 1 where it says nothing believable.
func span(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxSpan {
		return 1
	}
	return n
}

// parts visits what is within a table, and not within a table in it.
func parts(n *html.Node, visit func(*html.Node)) {
	for child := range n.ChildNodes() {
		if child.DataAtom != atom.Table {
			parts(child, visit)
			visit(child)
		}
	}
}

// unread are the elements whose content no reader sees as text.
var unread = set(atom.Script, atom.Style, atom.Template, atom.Iframe, atom.Object, atom.Canvas, atom.Svg, atom.Audio, atom.Video,
	atom.Textarea, atom.Select, atom.Noembed, atom.Noframes)

// hidden reports whether an element is not shown, by its own attributes. What a style sheet
// hides is not known here. A page that hides itself until a script shows it is no hidden
// page.
func hidden(name atom.Atom, attributes []html.Attribute) bool {
	if name == atom.Html || name == atom.Body || name == atom.Main {
		return false
	}
	shown := name != atom.Dialog
	for _, a := range attributes {
		switch a.Key {
		case "hidden":
			return true
		case "open":
			shown = true
		case "style":
			if hides(a.Val) {
				return true
			}
		}
	}
	return !shown
}

var (
	nothing   = []string{"0", "0.0", "0%", "0px", "0pt", "0em", "0rem", ".0"}
	invisible = map[string][]string{
		"display": {"none"}, "visibility": {"hidden", "collapse"}, "opacity": nothing, "font-size": nothing,
	}
)

// hides reports whether a style lets nothing be seen.
func hides(style string) bool {
	if len(style) > 4<<10 {
		style = style[:4<<10]
	}
	for declaration := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(declaration, ":")
		value, _, _ = strings.Cut(value, "!")
		value = strings.TrimSpace(value)
		if slices.Contains(invisible[strings.TrimSpace(name)], value) {
			return true
		}
	}
	return false
}
