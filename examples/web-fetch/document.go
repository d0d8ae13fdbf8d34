package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/examples/web-fetch/internal/page"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// document is a page that was fetched, to be answered in parts.
type document struct {
	asked  string // the URL that was asked for
	digest string // of the text
	whole  fetchOut
}

func newDocument(asked, url string, a page.Article, at time.Time) *document {
	sum := sha256.Sum256([]byte(a.Markdown))
	return &document{asked, hex.EncodeToString(sum[:6]), fetchOut{
		URL: url, Title: a.Title, Description: a.Description, Author: a.Author, FetchedAt: at.Truncate(time.Second),
		Content: a.Markdown, Form: a.Form, MIMEType: a.Type, Size: len(a.Markdown), LeftOut: a.LeftOut,
	}}
}

// part is what of a document stands from an offset on, at most so many bytes. It ends at
// the end of a paragraph, a line or a word where one is near, and always at that of a
// character.
func (d *document) part(from, most int) fetchOut {
	o := d.whole
	from = min(from, len(o.Content))
	o.first = from
	rest := o.Content[from:]
	o.Content = ending(rest, most)
	if end := from + len(o.Content); end < o.Size {
		o.Truncated, o.NextCursor = true, cursor{end, d.digest}.String()
	}
	return o
}

func ending(rest string, most int) string {
	if len(rest) <= most {
		return rest
	}
	rest = text.Cut(rest, most)
	for _, border := range []string{"\n\n", "\n", " "} {
		if at := strings.LastIndex(rest, border); at > most/2 {
			return rest[:at+len(border)]
		}
	}
	return rest
}

// cursor is where in which text a part begins.
type cursor struct {
	offset int
	digest string
}

func (c cursor) String() string { return strconv.Itoa(c.offset) + "-" + c.digest }

func parseCursor(word string) (cursor, error) {
	if word == "" {
		return cursor{}, nil
	}
	offset, digest, _ := strings.Cut(word, "-")
	n, err := strconv.Atoi(offset)
	if err != nil || n < 0 || len(digest) != 12 {
		return cursor{}, fault.New(fault.ParamMalformed, "this is no cursor: "+strconv.Quote(text.Escape(text.Cut(word, 64))), "Use the nextCursor of the part before, or none")
	}
	return cursor{n, digest}, nil
}

func changed() error {
	return fault.New(fault.Exists, "the page is not what it was when its first part was read", "Fetch it without a cursor")
}

// How many bytes of text are kept for their next part to be asked for, and how long.
const (
	keptBytes = 16 << 20
	keptTime  = 10 * time.Minute
)

// kept is the documents of several parts that were fetched last, so that the parts of one
// belong to one text. A call without a cursor never gets one: it wants the page as it is.
type kept struct {
	mu   sync.Mutex
	all  []*document // the newest last
	size int
}

func (k *kept) find(asked string, c cursor) (*document, bool) {
	if c.digest == "" {
		return nil, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.all {
		if d.asked == asked && d.digest == c.digest {
			return d, true
		}
	}
	return nil, false
}

func (k *kept) keep(d *document) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all, k.size = append(k.all, d), k.size+d.whole.Size
	for len(k.all) > 0 && (k.size > keptBytes || d.whole.FetchedAt.Sub(k.all[0].whole.FetchedAt) > keptTime) {
		k.size -= k.all[0].whole.Size
		k.all = k.all[1:]
	}
}
