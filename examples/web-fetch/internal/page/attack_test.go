package page

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// repeat is a text as often as fits into 128 KiB.
func repeat(s string) string { return strings.Repeat(s, 128<<10/len(s)) }

// distinct is n formatting elements that no parser takes for the same.
func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b a%d=1>", i)
	}
	return b.String()
}

// Pages that would be a burden as a tree are read as text, and take memory that grows
// with the page only.
func TestABurdenOfAPageIsReadAsText(t *testing.T) {
	for what, body := range map[string]string{
		"10 MB of tags":                     strings.Repeat("<b class='"+strings.Repeat("x", 90)+"'>", 10<<20/100),
		"elements that are never closed":    repeat("<div>x"),
		"elements of no name":               repeat("<x-y>"),
		"formatting repeated by paragraphs": distinct(150) + repeat("<p>x</p>"),
		"formatting ended out of order":     strings.Repeat("<p>"+distinct(20)+"</p>", 50) + repeat("<p>x"),
		"one element of many attributes":    "<b " + strings.Repeat("a=b ", 100_000) + ">" + repeat("<p>x"),
		"quotations within quotations":      strings.Repeat("<blockquote>", 180) + strings.Repeat("<p>xxxxxxxxxxxxxxxxxxxxxxxx</p>", 10_000),
		"formatting hidden by cells":        strings.Repeat(distinct(10)+"<table><td></b></b></b></b></b></b></b></b></b></b></td></table>", 30) + repeat("<p>x"),
		"drawings":                          "<svg>" + repeat("<g>"),
		"tables within tables":              repeat("<table><tr><td>x"),
		"end tags that end nothing":         repeat("</b>"),
	} {
		before := allocated()
		a := ofHTML(t, "<title>T</title>"+body)
		if grown := allocated() - before; grown > 64<<20+uint64(20*len(body)) {
			t.Errorf("%s: %d MB of memory", what, grown>>20)
		}
		if a.Form != Plain || a.Title != "T" || len(a.Markdown) > len(body) {
			t.Errorf("%s: %s of %d bytes, titled %q", what, a.Form, len(a.Markdown), a.Title)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Within what is borne as a tree nothing grows beyond measure either.
func TestWhatIsReadByItsStructureStaysBounded(t *testing.T) {
	for what, body := range map[string]string{
		"a table of few long rows":    "<table><tr>" + strings.Repeat("<td>a", 500) + strings.Repeat("<tr><td>b", 500),
		"cells of many columns":       "<table>" + strings.Repeat("<tr><td colspan=1000000 rowspan=1000000>b", 300),
		"cells of a few columns":      "<table>" + strings.Repeat("<tr><td colspan=20>b", 900),
		"a long cell among many":      "<table><tr><th>" + strings.Repeat("a", 20_000) + strings.Repeat("<tr><td>b", 400) + "</table>",
		"lists within lists":          strings.Repeat("<ul><li>", 60) + strings.Repeat("<p>xxxxxxxxxxxx</p>", 200),
		"quotations":                  strings.Repeat("<blockquote>", 100) + strings.Repeat("<p>xxxxxxxxxxxx</p>", 200),
		"links to a long base":        "<base href='https://site.example/" + strings.Repeat("a", 900) + "/'>" + strings.Repeat("<a href=b>x</a> ", 3_000),
		"links that are too long":     strings.Repeat("<p><a href='/"+strings.Repeat("a", 2000)+"'>x</a> ", 50),
		"backticks":                   "<p><code>" + strings.Repeat("` ", 5_000),
		"what Markdown has to escape": "<p>" + strings.Repeat("* _ [ ] < ", 2_000),
	} {
		a := ofHTML(t, body)
		if most := 12*len(body) + maxLinks; len(a.Markdown) > most || a.Form == Plain || a.Markdown == "" {
			t.Errorf("%s: %s of %d bytes from %d", what, a.Form, len(a.Markdown), len(body))
		}
	}
}

// The property: a page of any bytes is an article or a refusal, the article is bounded, and
// holds nothing that has no shape. FuzzWeigh has the other half.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		"<p>x", "<a href=x><b><p></a>y", "<table><b><tr><td></b>", "<svg><p><math><mi></svg>", "<!--", "<script>", "<title>\u202e</title>", "<p hidden>x<p>y",
		"<ul><li><ul><blockquote>", "<img src=data:x alt=y>", "<base href=//x><a href=y>z", "\xff\xfe<\x00p\x00", "<plaintext>", "<frameset>", "<template><p>",
		"<pre>a\n```\nb</pre>", "<td>", "<select><option><p>", "<noscript><img>", "<code>|</code>", "<table><th><code>|",
	} {
		f.Add([]byte(seed), "text/html")
	}
	f.Add([]byte("{\"a\": 1}"), "application/json; charset=x")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		a, err := Convert(Source{Body: body, Type: kind, Base: home})
		if err != nil {
			return
		}
		if len(a.Markdown) > 64*len(body)+4096 || !utf8.ValidString(a.Markdown) && utf8.Valid(body) {
			t.Fatalf("%d bytes of %d", len(a.Markdown), len(body))
		}
		for _, text := range []string{a.Markdown, a.Title, a.Description, a.Author} {
			if visible(text, nil) != text {
				t.Fatalf("%q holds what has no shape", text)
			}
		}
		if strings.ContainsAny(a.Title+a.Description+a.Author, "\n\r") {
			t.Fatalf("%q has more than a line", a.Title+a.Description+a.Author)
		}
	})
}

// The property: a tree has not more nodes than were counted, a few for each tag aside.
func FuzzWeigh(f *testing.F) {
	for _, seed := range []string{
		"<p><b><i>x<p>y<p>z", "<b><table><td></b></b></table><p>x<p>y", "<a><div><a><p>x", "<b><i></b>x</i><p>", distinct(9) + "<p>x<p>x<p>x</b></b><p>x", "<nobr><nobr>",
		"<table><tr><td><b>x<table>y", "<font><p></font>x<p>x", "<li><b><li><li>", "<ruby><rt><rp>", "</p></br>", "<h1><h2><b></h1>x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		counted, bearable := weigh(content)
		doc, err := html.Parse(strings.NewReader(content))
		if err != nil || !bearable {
			return
		}
		nodes := 0
		for range doc.Descendants() {
			nodes++
		}
		if nodes > 4*counted+16 {
			t.Fatalf("%d nodes, %d were counted", nodes, counted)
		}
	})
}
