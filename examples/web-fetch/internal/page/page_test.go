package page

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

var home = &url.URL{Scheme: "https", Host: "site.example", Path: "/dir/page.html"}

// ofHTML is the article of a page that a server calls HTML.
func ofHTML(t *testing.T, body string) Article {
	t.Helper()
	a, err := Convert(Source{Body: []byte(body), Type: "text/html", Base: home})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRealisticPagesReadAsTheyShould(t *testing.T) {
	files, err := filepath.Glob("testdata/*.html")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := ofHTML(t, string(body))
		mcptest.Golden(t, file[:len(file)-len("html")]+"md", shownArticle(a))
	}
}

func shownArticle(a Article) string {
	return "title: " + a.Title + "\ndescription: " + a.Description + "\nauthor: " + a.Author + "\nform: " + string(a.Form) + "\n---\n" + a.Markdown + "\n"
}
