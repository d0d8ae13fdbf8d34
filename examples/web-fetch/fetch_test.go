package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/examples/web-fetch/internal/dial"
	"github.com/multiollama/mcp-server/shared/fault"
)

// fetcherOf lets through exactly one site, with small limits.
func fetcherOf(t *testing.T, s site) *fetcher {
	t.Helper()
	opening, ok := dial.ParseOpening(s.address())
	if !ok {
		t.Fatal(s.address())
	}
	return &fetcher{
		guard: dial.New(dial.Options{Open: []dial.Opening{opening}}),
		bytes: 100_000, answer: 1000, redirects: 3, timeout: time.Minute, turns: make(chan struct{}, 1), now: time.Now,
	}
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

func TestThePartsOfALongPageAreTheWhole(t *testing.T) {
	var page strings.Builder
	for i := range 400 {
		fmt.Fprintf(&page, "段落 %d: the quick brown fox, いろはにほへと。\n\n", i)
	}
	page.WriteString(strings.Repeat("無", 500)) // nowhere to cut but within a word
	visits := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		visits++
		w.Header().Set("Content-Type", "text/markdown")
		fmt.Fprint(w, page.String(), visits) // another one each time
	})
	f := fetcherOf(t, s)
	var whole strings.Builder
	parts, cursor := 0, ""
	for {
		o, err := f.fetch(t.Context(), fetchIn{URL: s.URL, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		whole.WriteString(o.Content)
		if len(o.Content) > f.answer || o.Truncated != (o.NextCursor != "") {
			t.Fatalf("a part of %d bytes, truncated %v, then %q", len(o.Content), o.Truncated, o.NextCursor)
		}
		parts++
		if cursor = o.NextCursor; cursor == "" {
			break
		}
	}
	if want := page.String() + "1"; whole.String() != want || parts < 20 || visits != 1 {
		t.Errorf("%d parts of %d visits make %d bytes of %d", parts, visits, whole.Len(), len(want))
	}
}

func TestThePartsOfAnAgentAreNamedByTheFragment(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("12345678\n", 150)) })
	f := fetcherOf(t, s)
	o, err := f.agent(t.Context(), agentIn{URL: s.URL + "/x"})
	next := regexp.MustCompile(`続き: (\S+)）`).FindStringSubmatch(o.Result)
	if next == nil || strings.Count(o.Result, "12345678\n") != 111 {
		t.Fatal(o.Result, err)
	}
	o, err = f.agent(t.Context(), agentIn{URL: next[1]})
	if err != nil || strings.Count(o.Result, "12345678\n") != 39 || strings.Contains(o.Result, "続き") {
		t.Error(o.Result, err)
	}
}

func TestAPartOfAPageThatChangedIsRefused(t *testing.T) {
	text := "one"
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(text+" ", 500)) })
	first, err := fetcherOf(t, s).fetch(t.Context(), fetchIn{URL: s.URL})
	if err != nil || first.NextCursor == "" {
		t.Fatal(first, err)
	}
	other := fetcherOf(t, s) // which has not seen the first part
	second, err := other.fetch(t.Context(), fetchIn{URL: s.URL, Cursor: first.NextCursor})
	if err != nil || len(first.Content)+len(second.Content) != first.Size {
		t.Errorf("a page that is as it was: %+v %v", second, err)
	}
	text = "two"
	if _, err := fetcherOf(t, s).fetch(t.Context(), fetchIn{URL: s.URL, Cursor: first.NextCursor}); code(err) != fault.Exists {
		t.Errorf("one that is not: %v", err)
	}
	for _, cursor := range []string{"x", "-1-0123456789ab", "5", "5-short", "99999999999999999999-0123456789ab"} {
		if _, err := other.fetch(t.Context(), fetchIn{URL: s.URL, Cursor: cursor}); code(err) != fault.ParamMalformed {
			t.Errorf("%q: %v", cursor, err)
		}
	}
}

func TestKeptPagesAreBounded(t *testing.T) {
	var k kept
	start := time.Now()
	for i := range 100 {
		k.keep(&document{asked: fmt.Sprint(i), digest: "d", whole: fetchOut{Size: 1 << 20, FetchedAt: start}})
	}
	if _, ok := k.find("99", cursor{0, "d"}); !ok || k.size > keptBytes || len(k.all) != keptBytes>>20 {
		t.Errorf("%d pages of %d bytes are kept", len(k.all), k.size)
	}
	k.keep(&document{asked: "late", digest: "d", whole: fetchOut{Size: 1, FetchedAt: start.Add(keptTime + time.Second)}})
	if len(k.all) != 1 || k.size != 1 {
		t.Errorf("%d old pages are kept", len(k.all)-1)
	}
	k.keep(&document{asked: "large", digest: "d", whole: fetchOut{Size: keptBytes + 1, FetchedAt: start}})
	if len(k.all) != 0 || k.size != 0 {
		t.Errorf("a page that is too large is kept")
	}
}

func TestOnlyAPageOfSeveralPartsIsKept(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.Repeat("text ", len(r.URL.Path))) })
	f := fetcherOf(t, s)
	for _, c := range []struct {
		path string
		kept int
	}{{"/short", 0}, {"/" + strings.Repeat("long", 100), 1}} {
		o, err := f.fetch(t.Context(), fetchIn{URL: s.URL + c.path})
		if err != nil || o.Truncated != (c.kept > 0) || len(f.kept.all) != c.kept {
			t.Errorf("%.10s: truncated is %t, %d pages are kept, %v", c.path, o.Truncated, len(f.kept.all), err)
		}
	}
}

func TestEveryFailureHasItsCode(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/png":
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, "\x89PNG\r\n\x1a\n\x00\x00")
		case "/large":
			fmt.Fprint(w, strings.Repeat("a", 200_000))
		case "/slow":
			<-r.Context().Done()
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/out":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	f := fetcherOf(t, s)
	f.timeout = 300 * time.Millisecond
	for path, want := range map[string]fault.Code{
		"/png": fault.Forbidden, "/large": fault.LimitReached, "/slow": fault.TimedOut, "/loop": fault.LimitReached, "/out": fault.OutsideAllowed, "/none": fault.NotFound,
	} {
		if _, err := f.fetch(t.Context(), fetchIn{URL: s.URL + path}); code(err) != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	f.turns <- struct{}{} // another page is being converted, for ever
	if _, err := f.fetch(t.Context(), fetchIn{URL: s.URL + "/"}); code(err) != fault.NotFound {
		t.Errorf("what fails needs no turn: %v", err)
	}
}

func TestAPageWithoutTextSaysSo(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html><body><div id=app></div><script src=app.js></script></body></html>")
	})
	f := fetcherOf(t, s)
	o, err := f.fetch(t.Context(), fetchIn{URL: s.URL})
	if err != nil || o.Content != "" || !strings.Contains(o.Text(), "no text was found") {
		t.Errorf("%+v %v", o, err)
	}
	a, err := f.agent(t.Context(), agentIn{URL: s.URL})
	if err != nil || !strings.Contains(a.Result, "本文がありません") {
		t.Errorf("%+v %v", a, err)
	}
}

func TestABurdenOfAPageSaysSo(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("<div>x", 1000)) })
	o, err := fetcherOf(t, s).fetch(t.Context(), fetchIn{URL: s.URL})
	if err != nil || o.Form != "plain" || !strings.Contains(o.Text(), "its text alone") {
		t.Errorf("%+v %v", o, err)
	}
}
