package page

import (
	"net/url"
	"strings"
	"unicode"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
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

// extract is the main text of a page, or where there is none, all of it.
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
	if main == nil || meagre(letters(main), letters(doc)) {
		a.Form, main = Whole, doc
		removeNavigation(doc)
	}
	a.Markdown, err = markdown(main)
	a.Markdown = strings.TrimPrefix(a.Markdown, "# "+a.Title+"\n")
	return a, err
}

// meagre says that what was taken for the main text is not worth more than the page.
func meagre(main, page int) bool { return main < 140 || main < 500 && main*10 < page }

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

func removeNavigation(doc *html.Node) {
	var all []*html.Node
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Nav, atom.Aside, atom.Footer, atom.Noscript, atom.Button:
			all = append(all, n)
		}
	}
	for _, n := range all {
		n.Parent.RemoveChild(n)
	}
}
