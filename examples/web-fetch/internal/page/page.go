// Package page makes Markdown of what a web server sent: the main text of a page, its
// title and its description.
//
// Binaries are refused. What a reader of the page would not see (hidden elements,
// comments, characters without a shape) is left out, and counted. A page does not decide
// how much time and memory it takes: one whose tree would be too much is read as text,
// without a tree. The package accesses memory only.
package page

import (
	"bytes"
	"io"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

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

// headBytes is how much of a page its encoding and type are detected by.
const headBytes = 64 << 10

func start(body []byte) []byte { return body[:min(len(body), headBytes)] }

// Convert makes an article. A type that is no text is fault.Forbidden, with the type.
func Convert(s Source) (Article, error) {
	detected := func() string { return text.Detect(start(s.Body), len(s.Body) <= headBytes).MIME }
	binary := func(kind string) error {
		return fault.New(fault.Forbidden, "the page is no text but "+kind, "Use a page of text: HTML, Markdown, JSON, XML").With("type", kind)
	}

	// The type is the one of the server, or where that says nothing, what the content looks
	// like; some servers know no types and call everything plain text.
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
		kind = detected()
	case "text/plain":
		head := bytes.ToLower(bytes.TrimSpace(s.Body[:min(len(s.Body), 64)]))
		if bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) {
			kind = "text/html"
		}
	}
	isXML := strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml"
	if !strings.HasPrefix(kind, "text/") && !isXML && !strings.HasSuffix(kind, "+json") && !slices.Contains(textual, kind) {
		return Article{}, binary(kind)
	}

	content, ok := decode(s.Body, kind, params["charset"])
	if !ok {
		return Article{}, binary(detected())
	}
	a := Article{Type: kind, Markdown: content, Form: Whole}
	if kind == "text/html" || kind == "application/xhtml+xml" {
		a = read(content, s.Base)
		a.Type = kind
	}
	for _, line := range []*string{&a.Title, &a.Description, &a.Author} {
		one := strings.Join(strings.Fields(visible(text.Cut(*line, 4*maxLine), nil)), " ")
		if *line = text.Cut(one, maxLine); len(*line) < len(one) {
			*line += "…"
		}
	}
	a.Markdown = strings.Trim(visible(a.Markdown, &a.LeftOut.Characters), "\n")
	return a, nil
}

// maxLine is the bytes of a title, a description and an author.
const maxLine = 1000

var isType = regexp.MustCompile(`^[a-z0-9.+-]{1,40}/[a-z0-9.+_-]{1,80}$`)

// textual are the types of texts that do not show it by their names.
var textual = []string{
	"application/json", "application/xml", "application/x-ndjson", "application/jsonl", "application/yaml",
	"application/x-yaml", "application/toml", "application/javascript", "application/ld+json", "application/rss",
}

// decode is a page in UTF-8. What the page or its server declares counts, as a browser
// has it (byte-order mark, then header, then meta), unless the bytes contradict it: then,
// and where nothing is declared, the encoding is detected by the bytes. Not ok: these are
// no text.
func decode(body []byte, kind, declared string) (content string, ok bool) {
	if declared == "" && strings.Contains(kind, "xml") {
		if m := xmlEncoding.FindSubmatch(body[:min(len(body), 256)]); m != nil {
			declared = string(m[1])
		}
	}
	label := ""
	if declared != "" {
		label = "text/html; charset=" + declared
	}
	codec, name, certain := charset.DetermineEncoding(body, label)
	isUTF8 := utf8.Valid(body)
	beyond := bytes.ContainsFunc(body, func(r rune) bool { return r >= utf8.RuneSelf })
	switch {
	case name == "utf-8", name == "windows-1252" && !certain: // which is also the result where nothing is known
	case !certain && isUTF8 && beyond:
	default:
		out, err := codec.NewDecoder().Bytes(body)
		return string(out), err == nil && !bytes.Contains(start(out), []byte{0})
	}
	if isUTF8 && !bytes.Contains(start(body), []byte{0}) {
		return strings.TrimPrefix(string(body), "\uFEFF"), true
	}
	found, ok := text.EncodingOf(start(body), len(body) <= headBytes)
	if !ok {
		return "", false
	}
	out, err := io.ReadAll(found.NewReader(bytes.NewReader(body)))
	return string(out), err == nil
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)

// visible is a text without the characters that have no shape: controls, bidirectional
// ones, tags, zero-width ones. They are how text is hidden from people and not from
// models. The joiners within words stay, and a variation selector after what it can
// select a shape of. count, where not nil, grows by what was dropped, soft hyphens and
// carriage returns aside.
func visible(s string, count *int) string {
	if !strings.ContainsFunc(s, suspect) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(' ')
	for _, r := range s {
		if !suspect(r) || stays(before, r) {
			b.WriteRune(r)
			before = r
			continue
		}
		if count != nil && r != softHyphen && r != '\r' {
			*count++
		}
	}
	return b.String()
}

const softHyphen = 0xAD

func suspect(r rune) bool {
	switch {
	case r < ' ':
		return r != '\n' && r != '\t'
	case r < 0x7F:
		return false
	case r == utf8.RuneError, unicode.Is(unicode.Prepended_Concatenation_Mark, r): // shown
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

// stays reports whether r means something where it is.
func stays(before, r rune) bool {
	switch {
	case r == 0x200C || r == 0x200D: // joiners
		return unicode.In(before, unicode.L, unicode.M, unicode.So, unicode.Sk)
	case r == 0xFE0E || r == 0xFE0F: // text or emoji
		return unicode.In(before, unicode.S, unicode.Po) || '0' <= before && before <= '9'
	case 0xE0100 <= r && r <= 0xE01EF: // forms of ideographs
		return unicode.Is(unicode.Han, before)
	}
	return false
}
