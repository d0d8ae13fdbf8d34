package main

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/text"
)

// document is a page that was fetched, to be returned in parts.
type document struct {
	asked  string // the URL that was asked for
	digest string // of the text
	whole  fetchOut
}

// part is what of a document begins at an offset, at most so many bytes. It ends at
// the end of a paragraph, a line or a word where one is near, and always at that of a
// character.
func (d *document) part(from, maxBytes int) fetchOut {
	o := d.whole
	from = min(from, len(o.Content))
	o.first = from
	if o.Content = o.Content[from:]; len(o.Content) > maxBytes {
		o.Content = text.Cut(o.Content, maxBytes)
		for _, border := range []string{"\n\n", "\n", " "} {
			if at := strings.LastIndex(o.Content, border); at > maxBytes/2 {
				o.Content = o.Content[:at+len(border)]
				break
			}
		}
	}
	if end := from + len(o.Content); end < o.Size {
		o.Truncated, o.NextCursor = true, strconv.Itoa(end)+"-"+d.digest
	}
	return o
}

// cursor is where in which text a part begins.
type cursor struct {
	offset int
	digest string
}

func parseCursor(word string) (cursor, error) {
	if word == "" {
		return cursor{}, nil
	}
	offset, digest, _ := strings.Cut(word, "-")
	n, err := strconv.Atoi(offset)
	if err != nil || n < 0 || len(digest) != 12 {
		return cursor{}, fault.New(fault.ParamMalformed, "this is no cursor: "+strconv.Quote(text.Escape(text.Cut(word, 64))),
			"Use the nextCursor of the part before, or none")
	}
	return cursor{n, digest}, nil
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
