package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxLink  = 1000    // bytes of a link
	maxLinks = 2 << 20 // bytes of all links of a page
	maxImage = 300     // bytes of the source of an image
	maxCells = 20_000  // of a table: its rows times its columns
	maxSpan  = 20      // columns or rows of one cell
	maxNest  = 8       // lists and quotations within one another: each level is written again for all below
)

// cleaner makes a tree fit for whoever reads or writes it next: nothing hidden in it,
// links absolute, and no element that makes more of itself than it is.
type cleaner struct {
	base      *url.URL
	out       LeftOut
	links     int      // bytes so far
	nest      int      // lists and quotations that are open
	pre       int      // texts that are open whose line ends count
	languages []string // classes that name the language of code
}

// clean works on what is within n.
func (c *cleaner) clean(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if c.drops(child) {
			n.RemoveChild(child)
		} else {
			c.within(child)
		}
		child = next
	}
}

func (c *cleaner) within(n *html.Node) {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote:
		c.nest++
		defer func() { c.nest-- }()
	case atom.Pre:
		c.pre++
		defer func() { c.pre-- }()
	}
	c.node(n)
	c.clean(n)
}

// drops says that a reader would see nothing of a node. Scripts stay for now: there are
// descriptions in some.
func (c *cleaner) drops(n *html.Node) bool {
	switch {
	case n.Type == html.CommentNode:
		return true
	case n.Type != html.ElementNode:
		return false
	case unread[n.DataAtom] && n.DataAtom != atom.Script:
		return true
	case hidden(n.DataAtom, n.Attr):
		c.out.Hidden++
		return true
	}
	return false
}

func (c *cleaner) node(n *html.Node) {
	if n.Type == html.TextNode && c.pre == 0 {
		n.Data = joined(n.Data)
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
}

// link makes a link absolute, or where it leads nowhere on the web, plain.
func (c *cleaner) link(n *html.Node) {
	ref := attribute(n, "href")
	if ref == "" {
		return
	}
	to, ok := c.absolute(ref, maxLink)
	if !ok {
		c.out.Links++
		n.Attr = nil
		rename(n, atom.Span)
		return
	}
	n.Attr = []html.Attribute{{Key: "href", Val: to}}
}

func (c *cleaner) absolute(ref string, most int) (string, bool) {
	if len(ref) > most {
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
	return to, len(to) <= most && c.links <= maxLinks
}

// image makes the source of an image absolute. Of one that is within the page, or has a
// source of great length, its description is left.
func (c *cleaner) image(n *html.Node) {
	src, alt := source(n), attribute(n, "alt")
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

// source is that of an image, also where a script would put it in its place later.
func source(n *html.Node) string {
	src := attribute(n, "src")
	if src != "" && !strings.HasPrefix(src, "data:") {
		return src
	}
	return cmp.Or(attribute(n, "data-src"), attribute(n, "data-original"), attribute(n, "data-lazy-src"), src)
}

// language keeps the class of code by which its language is known, as in
// class="language-go".
func (c *cleaner) language(n *html.Node) {
	for class := range strings.FieldsSeq(attribute(n, "class")) {
		if strings.HasPrefix(class, "language-") && len(class) <= 32 && len(c.languages) < 16 && !slices.Contains(c.languages, class) {
			c.languages = append(c.languages, class)
		}
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
		case atom.Td:
			narrow(n)
		case atom.Th:
			narrow(n)
			headed = true
		}
	})
	switch {
	case rows*columns > maxCells, columns <= 1: // nor is one column a table
		flatten(table)
	case headed: // a table of data, not of layout
		parts(table, escapeBars)
	}
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

// escapeBars keeps a bar in code from ending its cell.
func escapeBars(n *html.Node) {
	if n.Type == html.TextNode && n.Parent.DataAtom == atom.Code && n.Parent.Parent.DataAtom != atom.Pre {
		n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
	}
}

func flatten(table *html.Node) {
	parts(table, func(n *html.Node) {
		switch n.DataAtom {
		case atom.Tr:
			rename(n, atom.P)
		case atom.Td, atom.Th, atom.Thead, atom.Tbody, atom.Tfoot:
			rename(n, atom.Span)
		}
	})
	rename(table, atom.Div)
}

func cells(row *html.Node) int {
	n := 0
	for cell := range row.ChildNodes() {
		if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
			n += max(1, span(attribute(cell, "colspan")))
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

func narrow(cell *html.Node) {
	for i, a := range cell.Attr {
		if a.Key == "colspan" || a.Key == "rowspan" {
			cell.Attr[i].Val = strconv.Itoa(span(a.Val))
		}
	}
}
