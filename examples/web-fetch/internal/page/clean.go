package page

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxLink  = 1000    // bytes of a link
	maxLinks = 2 << 20 // bytes of all links of a page
	maxImage = 300     // bytes of the source of an image
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
