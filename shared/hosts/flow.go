package hosts

import (
	"bytes"
	"slices"
	"strings"
)

// flow is the text between two brackets, in JSON with comments or in YAML.
type flow struct {
	open, close int // offsets of the brackets
	items       []item
	inline      bool   // items get lines of their own only where the others have them
	unit        string // what a level is indented by
}

// item is a member with its key, or an element.
type item struct {
	from, to int
	value    int // where the value begins
	comma    int // offset of the comma behind it; -1: none
}

// behind is the offset of the white space and comments before item i.
func (f flow) behind(i int) int {
	if i == 0 {
		return f.open + 1
	}
	return f.items[i-1].comma + 1
}

// layout is how a new item of a flow is written.
type layout struct {
	end    string // of lines
	margin string // before the closing bracket
	indent string // before the item
	unit   string // what a level is indented by
	lines  bool   // the item has lines of its own
	dense  bool   // no white space at all
}

// layout follows the last item, or if there is none, the text around.
func (f flow) layout(text []byte) layout {
	l := layout{end: lineEnd(text), margin: margin(text, f.open), unit: f.unit}
	l.indent = l.margin + f.unit
	body := bytes.TrimSpace(text)
	l.dense = !f.inline && !bytes.Contains(body, []byte("\n")) && !bytes.Contains(body, []byte(`": `)) && len(body) > 2
	if len(f.items) == 0 {
		l.lines = !f.inline && (bytes.Contains(body, []byte("\n")) || len(body) == f.close-f.open+1)
		return l
	}
	i := len(f.items) - 1
	gap := text[f.behind(i):f.items[i].from]
	if l.lines = bytes.Contains(gap, []byte("\n")); l.lines {
		l.indent = margin(text, f.items[i].from)
	}
	return l
}

// render is key and value as the layout has them; an empty key is an element.
func (l layout) render(key string, value any) string {
	name := ""
	if key != "" {
		name = inQuotes(key) + ": "
	}
	switch {
	case l.lines:
		return name + withLineEnd(indented(value, l.indent, l.unit), l.end)
	case l.dense:
		return strings.TrimSuffix(name, " ") + compact(value)
	}
	return name + spaced(value)
}

// insert puts a new item behind the last one: with a comma behind it where that
// has one, else with one before it. Comments on the last item's line stay there.
func (f flow) insert(text []byte, key string, value any) []byte {
	l := f.layout(text)
	last := f.open + 1
	comma := -1
	if n := len(f.items); n > 0 {
		if last = f.items[n-1].to; f.items[n-1].comma >= 0 {
			comma = f.items[n-1].comma
			last = comma + 1
		}
	}
	p := comments(text, last, f.close)
	commented := p > last
	l.lines = l.lines || commented && f.endsLine(text, p)
	gap := ""
	switch {
	case l.lines:
		gap = l.end + l.indent
	case commented || len(f.items) > 0 && !l.dense:
		gap = " "
	}
	added := gap + l.render(key, value)
	switch {
	case comma >= 0:
		return splice(text, p, p, added+",")
	case len(f.items) > 0:
		return splice(splice(text, p, p, added), last, last, ",")
	case l.lines:
		return splice(text, p, f.close, added+l.tail(string(text[p:f.close])))
	}
	return splice(text, p, p, added)
}

// endsLine says that nothing but blanks follows on the line before the bracket
// that closes.
func (f flow) endsLine(text []byte, p int) bool {
	rest := bytes.TrimLeft(text[p:f.close], " \t\r")
	return len(rest) == 0 || rest[0] == '\n'
}

// tail is the text between an only item and the closing bracket, where rest was before there
// was an item. remove restores rest: if it is only line ends, one more is written, so that
// each tail has one rest.
func (l layout) tail(rest string) string {
	if !strings.Contains(rest, "\n") {
		return l.end + l.margin + rest
	}
	if l.ends(rest) > 0 {
		return l.end + rest
	}
	return rest
}

// ends counts the line ends of s, if it is nothing but these, the margin, and
// blanks.
func (l layout) ends(s string) int {
	n := 0
	for strings.HasPrefix(s, l.end) {
		s = s[len(l.end):]
		n++
	}
	if rest, found := strings.CutPrefix(s, l.margin); found && strings.Trim(rest, " \t\r") == "" {
		return n
	}
	return 0
}

// remove takes item i out, with the comma that it needed and a comment that ends
// its line. Comments on lines of their own stay.
func (f flow) remove(text []byte, i int) []byte {
	it := f.items[i]
	from := it.from
	for from > f.behind(i) && isSpace(text[from-1]) {
		from--
	}
	to := it.to
	if it.comma >= 0 {
		to = it.comma + 1
	}
	if p := comments(text, to, f.close); f.endsLine(text, p) {
		to = p
	}
	for from == it.from && i < len(f.items)-1 && isBlank(text[to]) {
		to++ // no space was before it, so that the next one needs none
	}
	if len(f.items) == 1 {
		l := f.layout(text)
		tail := string(text[to:f.close])
		switch n := l.ends(tail); {
		case n == 1:
			tail = tail[len(l.end+l.margin):]
		case n > 1:
			tail = tail[len(l.end):]
		}
		return splice(text, from, f.close, tail)
	}
	out := splice(text, from, to, "")
	if i == len(f.items)-1 && it.comma < 0 {
		comma := f.items[i-1].comma
		out = splice(out, comma, comma+1, "")
	}
	return out
}

// replace gives item i another value.
func (f flow) replace(text []byte, i int, value any) []byte {
	l := f.layout(text)
	l.indent = margin(text, f.items[i].from)
	return splice(text, f.items[i].value, f.items[i].to, l.render("", value))
}

// comments is the end of the last comment that begins on the line of from, or
// from. The blanks at the end of a comment are not of it.
func comments(text []byte, from, limit int) int {
	end := from
	for i := from; i < limit; {
		switch rest := text[i:limit]; {
		case isBlank(rest[0]):
			i++
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest, []byte("*/"))
			if n < 0 {
				return end
			}
			i += n + 2
			end = i
		case bytes.HasPrefix(rest, []byte("//")) || rest[0] == '#':
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			return i + len(bytes.TrimRight(line, " \t\r"))
		default:
			return end
		}
	}
	return end
}

// indentation is what the first item of a flow that has a line of its own is indented
// by; two spaces if there is none.
func (f flow) indentation(text []byte) string {
	outer := margin(text, f.open)
	i := slices.IndexFunc(f.items, func(it item) bool {
		start := bytes.LastIndexByte(text[:it.from], '\n') + 1
		return start > f.open && len(margin(text, it.from)) == it.from-start && len(margin(text, it.from)) > len(outer)
	})
	if i < 0 {
		return "  "
	}
	return strings.TrimPrefix(margin(text, f.items[i].from), outer)
}
