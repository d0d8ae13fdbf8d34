// Package page makes Markdown of what a web server sent: the main text of a page, its
// title and its description.
//
// It refuses binaries, to pass on what a reader of the page would not see (elements that
// are hidden, comments, characters without a shape), and to let a page decide how much
// time and memory it takes: a page whose tree would be too much is read as text, without
// a tree. It refuses to leave out silently: what was left out is counted. It touches
// memory only.
package page

import (
	"bytes"
	"mime"
	"net/url"
	"regexp"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// Source is a page as a server sent it.
type Source struct {
	Body []byte
	Type string   // the Content-Type; empty: look at the content
	Base *url.URL // where it came from
}

// Article is a page for reading.
type Article struct {
	Title       string // one line; empty: none
	Description string // one line, of the page's own; empty: none
	Author      string
	Type        string // what it was, such as text/html
	Markdown    string // or text, where it was no HTML
	Form        Form
	LeftOut     LeftOut
}

// Form is what of a page its article is.
type Form string

// The forms.
const (
	Main  Form = "main"  // the main text of a page
	Whole Form = "whole" // all of it: it has no main text, or is no HTML
	Plain Form = "plain" // its text without structure: the structure is too much
)

// LeftOut counts what a page has and its article has not, besides navigation.
type LeftOut struct {
	Hidden     int `json:"hiddenElements,omitempty"`
	Characters int `json:"invisibleCharacters,omitempty"`
	Images     int `json:"embeddedImages,omitempty"`
	Links      int `json:"unusableLinks,omitempty"`
}

// Convert makes an article. A type that is no text is fault.Forbidden, with the type.
func Convert(s Source) (Article, error) {
	kind, params := typeOf(s)
	if !readable(kind) {
		return Article{}, binary(kind)
	}
	content, ok := decode(s.Body, kind, params["charset"])
	if !ok {
		return Article{}, binary(byContent(s.Body))
	}
	a := Article{Type: kind, Markdown: content, Form: Whole}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		a = read(content, s.Base)
		a.Type = kind
	}
	a.show()
	return a, nil
}

// maxLine is the bytes of a title, a description and an author.
const maxLine = 1000

// show drops what nobody would see from all texts of the article.
func (a *Article) show() {
	for _, line := range []*string{&a.Title, &a.Description, &a.Author} {
		one := strings.Join(strings.Fields(visible(text.Cut(*line, 4*maxLine), nil)), " ")
		if *line = text.Cut(one, maxLine); len(*line) < len(one) {
			*line += "…"
		}
	}
	a.Markdown = strings.Trim(visible(a.Markdown, &a.LeftOut.Characters), "\n")
}

func binary(kind string) error {
	return fault.New(fault.Forbidden, "the page is no text but "+kind, "Use a page of text: HTML, Markdown, JSON, XML").With("type", kind)
}

// headBytes is how much of a page its encoding and type are told by.
const headBytes = 64 << 10

func start(body []byte) []byte { return body[:min(len(body), headBytes)] }

// byContent is the type that a page looks like.
func byContent(body []byte) string { return text.Detect(start(body), len(body) <= headBytes).MIME }

// typeOf is the type that the server tells, or where it tells none (or one that says
// nothing) what the content looks like.
func typeOf(s Source) (kind string, params map[string]string) {
	kind, params, err := mime.ParseMediaType(s.Type)
	if err != nil {
		kind, _, _ = strings.Cut(s.Type, ";") // a broken parameter is no broken type
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	if !isType.MatchString(kind) {
		kind = ""
	}
	switch kind {
	case "", "application/octet-stream", "application/unknown", "binary/octet-stream":
		return byContent(s.Body), params
	case "text/plain":
		if looksLikeHTML(s.Body) {
			return "text/html", params
		}
	}
	return kind, params
}

var isType = regexp.MustCompile(`^[a-z0-9.+-]{1,40}/[a-z0-9.+_-]{1,80}$`)

// looksLikeHTML is for servers that know no types.
func looksLikeHTML(body []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 64)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// readable says that a type is text.
func readable(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml" || strings.HasSuffix(kind, "+json") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/x-ndjson", "application/jsonl", "application/yaml",
		"application/x-yaml", "application/toml", "application/javascript", "application/ld+json", "application/rss":
		return true
	}
	return false
}
