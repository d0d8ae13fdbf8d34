package page

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// in is the Japanese page in another encoding, with another word for it in its meta.
func in(t *testing.T, encoding, meta string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/blog-ja.html")
	if err != nil {
		t.Fatal(err)
	}
	e, err := text.Lookup(encoding)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Encode(strings.Replace(string(b), `<meta charset="utf-8">`, meta, 1), strings.HasPrefix(encoding, "utf-16"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPagesInEveryEncodingReadAlike(t *testing.T) {
	want := ofHTML(t, string(in(t, "utf-8", "")))
	if !strings.Contains(want.Markdown, "岬(みさき)の先") {
		t.Fatal(want.Markdown)
	}
	for _, c := range []struct{ what, encoding, meta, kind string }{
		{"told by the server", "shift_jis", "", "text/html; charset=Shift_JIS"},
		{"told by the page", "shift_jis", `<meta charset="Shift_JIS">`, "text/html"},
		{"told by the page, as it was once", "euc-jp", `<meta http-equiv="Content-Type" content="text/html; charset=EUC-JP">`, "text/html"},
		{"told by the server, wrong in the page", "euc-jp", `<meta charset="utf-8">`, "text/html; charset=euc-jp"},
		{"told wrong: it is no UTF-8", "shift_jis", `<meta charset="utf-8">`, "text/html"},
		{"told wrong by the server", "euc-jp", "", "text/html; charset=utf-8"},
		{"told by nobody", "shift_jis", "", "text/html"},
		{"told by nobody, in EUC-JP", "euc-jp", "", "text/html"},
		{"as mail was", "iso-2022-jp", `<meta charset="iso-2022-jp">`, "text/html"},
		{"by its mark", "utf-16le", "", "text/html"},
		{"by its mark, whatever the server says", "utf-16be", "", "text/html; charset=iso-8859-1"},
		{"by a name that nobody knows", "utf-8", "", "text/html; charset=klingon"},
		{"with a broken parameter", "utf-8", "", `text/html; charset="utf-8`},
		{"without a type", "utf-8", "", ""},
		{"as plain text", "utf-8", "", "text/plain"},
	} {
		got, err := Convert(Source{Body: in(t, c.encoding, c.meta), Type: c.kind, Base: home})
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

func TestTextsComeAsTheyAreAndBinariesNot(t *testing.T) {
	sjis := func(s string) string {
		e, _ := text.Lookup("shift_jis")
		b, _ := e.Encode(s, false)
		return string(b)
	}
	for _, c := range []struct {
		kind, body, want string
		code             fault.Code
	}{
		{"text/plain", "a < b & c\n", "a < b & c", ""},
		{"text/markdown", "# x\n\n<b>y</b>", "# x\n\n<b>y</b>", ""},
		{"application/json", "{\"a\": [1]}", "{\"a\": [1]}", ""},
		{"application/problem+json", "{}", "{}", ""},
		{"application/rss+xml", "<?xml version='1.0'?><rss/>", "<?xml version='1.0'?><rss/>", ""},
		{"text/xml", sjis("<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><a>ソ十能ﾃｽﾄ</a>"), "<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><a>ソ十能ﾃｽﾄ</a>", ""},
		{"", "plain words", "plain words", ""},
		{"words, not a type", "plain words", "plain words", ""},
		{"text/" + strings.Repeat("x", 1000), "plain words", "plain words", ""},
		{"application/octet-stream", "plain words", "plain words", ""},
		{"text/plain", "", "", ""},
		{"image/png", "x", "image/png", fault.Forbidden},
		{"image/svg+xml", "<svg/>", "image/svg+xml", fault.Forbidden},
		{"application/pdf", "%PDF-1.7", "application/pdf", fault.Forbidden},
		{"application/zip", "PK", "application/zip", fault.Forbidden},
		{"video/mp4", "", "video/mp4", fault.Forbidden},
		{"", "%PDF-1.7\n\xe2\xe3", "application/pdf", fault.Forbidden},
		{"application/octet-stream", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00", "application/x-", fault.Forbidden},
		{"text/html", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00", "image/png", fault.Forbidden},
		{"text/plain; charset=utf-8", "a\x00\x00\x00\x01\x02\x03", "application/octet-stream", fault.Forbidden},
	} {
		a, err := Convert(Source{Body: []byte(c.body), Type: c.kind, Base: home})
		switch {
		case c.code == "" && (err != nil || a.Markdown != c.want || a.Form != Whole):
			t.Errorf("%s %q: %+v %v", c.kind, c.body, a, err)
		case c.code != "" && (err == nil || fault.From(err).Code != c.code || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %q: %v", c.kind, c.body, err)
		}
	}
}

func TestWhatNoReaderSeesIsNotPassedOn(t *testing.T) {
	for _, c := range []struct {
		what, body string
		out        LeftOut
	}{
		{"display", `<p style="color:red; display : NONE !important">HIDE</p>`, LeftOut{Hidden: 1}},
		{"visibility", `<div style="visibility:hidden"><p>HIDE</p></div>`, LeftOut{Hidden: 1}},
		{"opacity", `<span style="opacity:0">HIDE</span>`, LeftOut{Hidden: 1}},
		{"size", `<span style="font-size:0px">HIDE</span>`, LeftOut{Hidden: 1}},
		{"the attribute", `<section hidden><p>HIDE</p></section>`, LeftOut{Hidden: 1}},
		{"a dialog that is closed", `<dialog>HIDE</dialog>`, LeftOut{Hidden: 1}},
		{"comments", `<!-- HIDE --><p>x<!-- HIDE --></p>`, LeftOut{}},
		{"templates and scripts", `<template>HIDE</template><script>HIDE</script><style>HIDE</style>`, LeftOut{}},
		{"frames and objects", `<iframe srcdoc="HIDE">HIDE</iframe><object>HIDE</object>`, LeftOut{}},
		{"fields", `<textarea>HIDE</textarea><select><option>HIDE</select><input value="HIDE" type="hidden">`, LeftOut{}},
		{"attributes", `<p title="HIDE" data-x="HIDE" aria-label="HIDE">x</p>`, LeftOut{}},
		{"tags of Unicode", "<p>x\U000E0048\U000E0049\U000E0044\U000E0045</p>", LeftOut{Characters: 4}},
		{"zero-width and bidirectional characters", "<p>a\u200bb\u2060c\ufeffd\u202ee\u2066f</p>", LeftOut{Characters: 5}},
		{"selectors that select nothing", "<p>a\ufe00\ufe0f\U000E0100</p>", LeftOut{Characters: 3}},
		{"a link that runs", `<p><a href="javascript:HIDE">x</a> <a href="data:text/html,HIDE">y</a></p>`, LeftOut{Links: 2}},
		{"an image within the page", `<p><img src="data:image/png;base64,HIDE"></p>`, LeftOut{Images: 1}},
	} {
		for _, heavy := range []string{"", strings.Repeat("<i>", maxDepth+1)} { // also where there is no tree
			a := ofHTML(t, "<title>T</title><body style='opacity:0'><p>seen</p>"+c.body+"<p>seen too</p>"+heavy)
			if strings.Contains(a.Markdown, "HIDE") || strings.Contains(a.Title, "HIDE") || !strings.Contains(a.Markdown, "seen too") {
				t.Errorf("%s: %s: %q", c.what, a.Form, a.Markdown)
			}
			if (heavy == "") != (a.Form == Whole) {
				t.Errorf("%s: is read as %s", c.what, a.Form)
			}
			if heavy == "" && a.LeftOut != c.out {
				t.Errorf("%s: left out %+v, want %+v", c.what, a.LeftOut, c.out)
			}
		}
	}
}

func TestCharactersThatMeanSomethingStay(t *testing.T) {
	for _, s := range []string{
		"👩\u200d👩\u200d👧 and ❤️\u200d🔥 and 1️⃣", "葛\U000E0100城市", "می\u200cخواهم", "ন্\u200dযা", "tab\tand\nline", "한국어 ﾊﾝｶｸ é ñ", "\u0600\u06DD", "a\uFFFDb",
	} {
		count := 0
		if got := visible(s, &count); got != s || count != 0 {
			t.Errorf("%q became %q, %d dropped", s, got, count)
		}
	}
	for s, want := range map[string]string{"co\u00adop": "coop", "a\r\nb": "a\nb", "a\x1b[31mb": "a[31mb", "a\u2028b": "ab", "x\u200d\u200d\u200cy": "x\u200dy", "a\u0085\x7fb": "ab"} {
		if got := visible(s, nil); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	}
}

func TestATitleIsALineOfBoundedLength(t *testing.T) {
	for _, body := range []string{"<p>x", strings.Repeat("<i>", maxDepth+1)} {
		a := ofHTML(t, "<title>one\n> URL: https://evil.example\u2028 "+strings.Repeat("あ", 100_000)+"</title>"+body)
		if !strings.HasPrefix(a.Title, "one > URL: ") || strings.Contains(a.Title, "\n") || len(a.Title) > maxLine+3 || !strings.HasSuffix(a.Title, "あ…") {
			t.Errorf("%s: %q", a.Form, a.Title)
		}
	}
}

func TestBrokenPagesAreStillRead(t *testing.T) {
	for _, c := range []struct{ what, body, want string }{
		{"nothing", "", ""},
		{"no tags at all", "only words", "only words"},
		{"a tag cut in two", "<p>words<a href=", "words"},
		{"a comment without end", "words<!-- more", "words"},
		{"a script without end", "<p>words</p><script>var x", "words"},
		{"end tags first", "</p></div></table>words", "words"},
		{"paragraphs in the wrong order", "<b><p>one</b>two</p>", "**one**two"},
		{"a table without a table", "<tr><td>one<td>two", "onetwo"},
		{"text within a table", "<table>words<tr><td>cell</table>", "words\n\ncell"},
		{"attributes without quotes and twice", "<p><a href=a href=b>words</a>", "[words](https://site.example/dir/a)"},
		{"entities without end", "<p>a &lt b &copy c &bogus; e", "a < b © c &amp;bogus; e"},
		{"frames", "<frameset><frame src=a></frameset><noframes>words</noframes>", ""},
		{"an old page", "<HTML><BODY BGCOLOR=white><CENTER><FONT SIZE=2>words<BR>more</FONT></CENTER>", "words  \nmore"},
	} {
		if a := ofHTML(t, c.body); a.Markdown != c.want {
			t.Errorf("%s: %q, want %q", c.what, a.Markdown, c.want)
		}
	}
}

func TestWhatIsWrittenIsMarkdown(t *testing.T) {
	for _, c := range []struct{ what, body, want string }{
		{"tags in a text", "<p>use &lt;script&gt; or a < b", `use \<script> or a < b`},
		{"an ampersand", "<p>AT&amp;T, &amp;amp; and &amp;copy;", "AT&T, &amp;amp; and &amp;copy;"},
		{"a text that looks like a quotation", "<p>&gt; not quoted", "&gt; not quoted"},
		{"a text that looks like a heading", "<p># not a heading", `\# not a heading`},
		{"a text that looks like a link", "<p>[x](http://evil.example)", `\[x](http://evil.example)`},
		{"code with a fence in it", "<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"},
		{"lines of Japanese", "<p>東京\n  大阪\nOsaka\n京都", "東京大阪 Osaka 京都"},
		{"lines of code in Japanese", "<pre>東京\n大阪</pre>", "```\n東京\n大阪\n```"},
		{"a bar in a cell", "<table><tr><th>a<th>b<tr><td><code>x|y</code><td>z|w</table>", "| a | b |\n|---|---|\n| `x\\|y` | z\\|w |"},
		{"links", `<base href="/b/"><p><a href="c?d=1&e#f">r</a> <a href="//h.example/">h</a> <a href="mailto:a@b.example">m</a> <a href="#x">f</a>`,
			"[r](https://site.example/b/c?d=1&e#f) [h](https://h.example/) [m](mailto:a@b.example) [f](https://site.example/b/#x)"},
		{"a link of great length", `<p><a href="/` + strings.Repeat("a", 2000) + `">long</a>`, "long"},
		{"an image", `<p><img src="i.png" alt="the view" data-x="y">`, "![the view](https://site.example/dir/i.png)"},
		{"an image that a script would show", `<p><img src="data:image/gif;base64,x" data-src="/i.png" alt="v">`, "![v](https://site.example/i.png)"},
		{"a table within a layout", "<table><tr><td><table><tr><th>a<th>b<tr><td>c<td>d</table></table>", "| a | b |\n|---|---|\n| c | d |"},
		{"an image of great length", `<p><img src="/` + strings.Repeat("a", 400) + `" alt="the view">`, `\[image: the view]`},
	} {
		if a := ofHTML(t, c.body); a.Markdown != c.want {
			t.Errorf("%s: %q, want %q", c.what, a.Markdown, c.want)
		}
	}
}
