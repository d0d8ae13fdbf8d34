package page

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plain is the text of a page from one pass over its tags, in time and memory that grow
// with the page and with nothing else.
func plain(content string) Article {
	p := plainText{a: Article{Form: Plain}}
	z := html.NewTokenizer(strings.NewReader(content))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.a.Markdown = tidy(p.text.String())
			p.a.Title = p.title.String()
			return p.a
		case html.TextToken:
			p.write(z)
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			p.tag(z, kind)
		}
	}
}

type plainText struct {
	a           Article
	text, title strings.Builder
	inTitle     bool
	skipped     string // the element whose content is left out
	depth       int    // of elements of that name within it, itself included
}

func (p *plainText) write(z *html.Tokenizer) {
	switch {
	case p.depth > 0:
	case p.inTitle:
		p.title.Write(z.Text())
	default:
		p.text.Write(z.Text())
	}
}

func (p *plainText) tag(z *html.Tokenizer, kind html.TokenType) {
	raw, hasAttr := z.TagName()
	name := atom.Lookup(raw)
	if p.depth > 0 {
		if string(raw) == p.skipped {
			p.nest(kind)
		}
		return
	}
	if block[name] || name == atom.Br {
		p.text.WriteByte('\n')
	}
	p.inTitle = name == atom.Title && kind == html.StartTagToken && p.title.Len() == 0
	if kind == html.EndTagToken || void[name] {
		return
	}
	hides := (hasAttr || name == atom.Dialog) && hidden(name, attributes(z))
	if hides {
		p.a.LeftOut.Hidden++
	}
	if hides || unread[name] {
		p.skipped, p.depth = string(raw), 1
	}
}

func (p *plainText) nest(kind html.TokenType) {
	if kind == html.EndTagToken {
		p.depth--
	} else {
		p.depth++
	}
}

func attributes(z *html.Tokenizer) []html.Attribute {
	var all []html.Attribute
	for more := true; more; {
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
