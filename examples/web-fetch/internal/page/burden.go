package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// What a tree may be for a page to be read by its structure. Pages for people stay far
// below; what exceeds it was made to be a burden.
const (
	maxDepth = 200
	maxNodes = 300_000
	maxWork  = 64 << 20 // bytes of text, times its depth
)

// weigh returns how many nodes the tree of a page may have, from one pass over its tags, and
// whether that is bearable. A parser of HTML repeats formatting elements that are open
// wherever a paragraph begins again, so that a few kilobytes can make gigabytes of nodes;
// each is counted here as often as it may be repeated, by its length.
func weigh(content string) (nodes int, bearable bool) {
	z := html.NewTokenizer(strings.NewReader(content))
	var open tags
	work := 0
	for nodes < maxNodes && work < maxWork && len(open.names) < maxDepth {
		switch z.Next() {
		case html.ErrorToken:
			return nodes, true
		case html.TextToken:
			work += (len(z.Raw()) + 16) * len(open.names)
		case html.StartTagToken, html.SelfClosingTagToken:
			weight := 1 + len(z.Raw())/16
			name, _ := z.TagName()
			open.start(atom.Lookup(name), weight)
		case html.EndTagToken:
			name, _ := z.TagName()
			if !open.end(atom.Lookup(name)) {
				nodes += disorder
			}
		}
		nodes += 1 + open.repeated
	}
	return nodes, false
}

// disorder is how many nodes an end tag out of order may make (the adoption agency of
// HTML, 13.2.6.4.7: eight rounds, three inner elements each).
const disorder = 32

// tags are the elements that are open. An unknown one has the atom 0.
type tags struct {
	names    []atom.Atom
	weights  []int
	repeated int // the weight of formatting elements that are open, or ended out of order
}

func (t *tags) start(name atom.Atom, weight int) {
	if void[name] {
		return
	}
	for len(t.names) > 0 && ends(name, t.names[len(t.names)-1]) {
		t.pop(true)
	}
	if !formatting[name] {
		weight = 0
	}
	t.names, t.weights = append(t.names, name), append(t.weights, weight)
	t.repeated += weight
}

// pop closes the innermost element. What is not closed in order is repeated, for all
// that can be said here.
func (t *tags) pop(inOrder bool) {
	last := len(t.names) - 1
	if inOrder {
		t.repeated -= t.weights[last]
	}
	t.names, t.weights = t.names[:last], t.weights[:last]
}

// end reports whether the tag is one that was due.
func (t *tags) end(name atom.Atom) (inOrder bool) {
	at := len(t.names) - 1
	for at >= 0 && t.names[at] != name {
		at--
	}
	if at < 0 {
		return !formatting[name]
	}
	inOrder = at == len(t.names)-1
	for len(t.names) > at {
		t.pop(inOrder)
	}
	return inOrder
}

// ends reports whether an element ends an open one that needs no end tag (HTML, 13.1.2.4).
func ends(starts, open atom.Atom) bool {
	switch open {
	case atom.P:
		return block[starts]
	case atom.Li, atom.Option:
		return starts == open
	case atom.Dt, atom.Dd:
		return starts == atom.Dt || starts == atom.Dd
	case atom.Td, atom.Th:
		return starts == atom.Td || starts == atom.Th || starts == atom.Tr || starts == atom.Tbody
	case atom.Tr:
		return starts == atom.Tr || starts == atom.Tbody
	}
	return false
}

// plain is the text of a page from one pass over its tags, in time and memory that grow
// with the page and with nothing else.
func plain(content string) Article {
	a := Article{Form: Plain}
	var text, title strings.Builder
	inTitle, skipped, depth := false, "", 0 // skipped is left out; so many elements of its name are open
	z := html.NewTokenizer(strings.NewReader(content))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind == html.TextToken && depth == 0 {
			into := &text
			if inTitle {
				into = &title
			}
			into.Write(z.Text())
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			continue
		}
		raw, more := z.TagName()
		name := atom.Lookup(raw)
		if depth > 0 {
			if string(raw) == skipped {
				depth = nested(depth, kind)
			}
			continue
		}
		if block[name] || name == atom.Br {
			text.WriteByte('\n')
		}
		inTitle = name == atom.Title && kind == html.StartTagToken && title.Len() == 0
		if kind == html.EndTagToken || void[name] {
			continue
		}
		hides := hidden(name, attributes(z, more))
		if hides {
			a.LeftOut.Hidden++
		}
		if hides || unread[name] {
			skipped, depth = string(raw), 1
		}
	}

	a.Title, a.Markdown = title.String(), tidy(text.String())
	return a
}

// nested is how many elements are open after a tag of one.
func nested(depth int, kind html.TokenType) int {
	if kind == html.EndTagToken {
		return depth - 1
	}
	return depth + 1
}

func attributes(z *html.Tokenizer, more bool) (all []html.Attribute) {
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "style", "hidden", "open":
			all = append(all, html.Attribute{Key: string(key), Val: string(value)})
		}
	}
	return all
}

// tidy collapses white space as a page does that is shown.
func tidy(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if words := strings.Fields(line); len(words) > 0 {
			b.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return b.String()
}

func set(all ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(all))
	for _, a := range all {
		m[a] = true
	}
	return m
}

var (
	void = set(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)
	formatting = set(atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small,
		atom.Strike, atom.Strong, atom.Tt, atom.U)
	block = set(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dd, atom.Details, atom.Dir, atom.Div,
		atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3,
		atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Table, atom.Tbody, atom.Td, atom.Th, atom.Tr, atom.Ul)
)
