package hosts

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// decodeYAML reads one document.
func decodeYAML(text []byte) (any, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var v, more any
	if err := d.Decode(&v); err != nil && err != io.EOF {
		return nil, broken(err.Error(), err)
	}
	if err := d.Decode(&more); err != io.EOF {
		return nil, broken("it holds more than one document", err)
	}
	return v, nil
}

// page is a text of YAML with its lines as the parser counts them.
type page struct {
	text   []byte
	starts []int // of each line
	root   *yaml.Node
	unit   string // what a mapping within the top one is indented by
}

// newPage reads the value of the document; a document that holds nothing is null.
func newPage(text []byte) (page, error) {
	pg := page{text, []int{0}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, "  "}
	for i := 0; i < len(text); i++ {
		if n := lineBreak(text[i:]); n > 0 {
			i += n - 1
			pg.starts = append(pg.starts, i+1)
		}
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return page{}, err
	}
	if len(doc.Content) == 0 {
		return pg, nil
	}
	pg.root = doc.Content[0]
	if isNull(pg.root) && pg.root.Value == "" {
		pg.root.Line = 0 // behind "---"
	}
	for _, n := range pg.root.Content {
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && n.Column > pg.root.Column {
			pg.unit = strings.Repeat(" ", n.Column-pg.root.Column)
			break
		}
	}
	return pg, nil
}

// lineBreak is the length of the line break that s begins with. YAML 1.1 has
// more of them than others (section 5.4).
func lineBreak(s []byte) int {
	switch {
	case bytes.HasPrefix(s, []byte("\r\n")):
		return 2
	case s[0] == '\n' || s[0] == '\r':
		return 1
	case bytes.HasPrefix(s, []byte("\u0085")):
		return 2
	case bytes.HasPrefix(s, []byte("\u2028")) || bytes.HasPrefix(s, []byte("\u2029")):
		return 3
	}
	return 0
}

// offset is where a node begins.
func (pg page) offset(n *yaml.Node) int {
	at := pg.starts[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(pg.text[at:])
		at += size
	}
	return at
}

// line is one line without its break.
func (pg page) line(i int) []byte {
	end := len(pg.text)
	if i+1 < len(pg.starts) {
		end = pg.starts[i+1]
	}
	return bytes.TrimRight(pg.text[pg.starts[i]:end], "\r\n\u0085\u2028\u2029")
}

// end is the offset of the line's break, or of the text's end.
func (pg page) end(i int) int { return pg.starts[i] + len(pg.line(i)) }

// last is the last line of what begins on line first in column column: all lines
// that are indented more, comments among them; with dashes also those that begin
// with a dash in that column.
func (pg page) last(first, column int, dashes bool) int {
	last := first
	for i := first + 1; i < len(pg.starts); i++ {
		line := pg.line(i)
		body := bytes.TrimLeft(line, " ")
		indent := len(line) - len(body)
		body = bytes.TrimSpace(body)
		switch {
		case len(body) == 0:
		case indent > column || dashes && indent == column && body[0] == '-' && (len(body) == 1 || isBlank(body[1])):
			last = i
		case body[0] != '#':
			return last
		}
	}
	return last
}

var errOdd = errors.New("not written as this package knows it")

func putYAML(text []byte, p pointer, value any) ([]byte, error) {
	pg, err := newPage(text)
	if err != nil {
		return nil, err
	}
	steps := p.keys()
	n, key, depth, child := pg.find(p, steps)
	if child >= 0 {
		return pg.set(n, child, value)
	}
	switch {
	case p.list && depth == len(p.under):
		return pg.add(n, key, "", nestedIn(steps[depth+1:], value))
	case p.list && depth < len(p.under):
		return pg.add(n, key, steps[depth], nestedIn(steps[depth+1:len(p.under)], []tree{value.(tree)}))
	}
	return pg.add(n, key, steps[depth], nestedIn(steps[depth+1:], value))
}

// takeYAML removes the entry. The last one leaves an empty container.
func takeYAML(text []byte, p pointer) ([]byte, error) {
	pg, err := newPage(text)
	if err != nil {
		return nil, err
	}
	n, key, _, j := pg.find(p, p.keys())
	if j < 0 {
		return nil, errOdd
	}
	if n.Style&yaml.FlowStyle != 0 {
		f, err := pg.flow(n)
		if err != nil {
			return nil, err
		}
		return f.remove(text, j), nil
	}
	line, start, to := pg.child(n, j)
	from := pg.starts[line]
	if len(bytes.TrimSpace(text[from:start])) > 0 {
		return nil, errOdd // it begins behind something else
	}
	if line > 0 {
		from = pg.end(line - 1)
	} else {
		to = min(to+len(lineEnd(text)), len(text))
	}
	out := splice(text, from, to, "")
	if count(n) > 1 {
		return out, nil
	}
	colon := pg.colon(key)
	if colon < 0 {
		return nil, errOdd
	}
	container := " []"
	if n.Kind == yaml.MappingNode {
		container = " {}"
	}
	return splice(out, colon+1, colon+1, container), nil
}

// find follows keys from the top, as far as there are children of these names: the last node, its key
// if that is in a block, how many keys lead to it, and its child of the next key; -1: none.
func (pg page) find(p pointer, keys []string) (n, key *yaml.Node, depth, child int) {
	n = pg.root
	for depth = range keys {
		inList := p.list && depth == len(p.under)
		if child = childOf(n, keys[depth], inList); child < 0 || depth == len(keys)-1 {
			break
		}
		if inList {
			n, key = n.Content[child], nil
			continue
		}
		if key = nil; n.Style&yaml.FlowStyle == 0 {
			key = n.Content[2*child]
		}
		n = n.Content[2*child+1]
	}
	return n, key, depth, child
}

// childOf is the number of the member, or of the element of that name; -1: none.
func childOf(n *yaml.Node, name string, inList bool) int {
	if inList {
		return slices.IndexFunc(n.Content, func(e *yaml.Node) bool {
			j := childOf(e, "name", false)
			return j >= 0 && e.Content[2*j+1].Value == name
		})
	}
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return i / 2
		}
	}
	return -1
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// add puts a new member, or for an empty name a new element, behind the last one
// of n, which is the value of key.
func (pg page) add(n, key *yaml.Node, name string, value any) ([]byte, error) {
	switch colon := pg.colon(key); {
	case isNull(n) && n.Line == 0: // the document holds nothing but comments
		return pg.insert(len(bytes.TrimRight(pg.text, " \t\r\n")), name, value, 0), nil
	case isNull(n) || len(n.Content) == 0 && colon >= 0 && pg.offset(n) == colon+2 && pg.isShortEmpty(colon):
		// The first one, on a line of its own; " {}" or " []" right behind the key goes.
		if colon < 0 {
			return nil, errOdd
		}
		rest := bytes.TrimSpace(pg.text[colon+1 : pg.end(key.Line-1)])
		if isNull(n) && len(rest) > 0 && rest[0] != '#' {
			return nil, errOdd
		}
		out := pg.insert(pg.end(pg.last(key.Line-1, key.Column-1, false)), name, value, key.Column-1+len(pg.unit))
		if !isNull(n) {
			out = splice(out, colon+1, colon+4, "")
		}
		return out, nil
	case n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode:
		return nil, notContainer(name)
	case n.Style&yaml.FlowStyle != 0:
		f, err := pg.flow(n)
		if err != nil {
			return nil, err
		}
		return f.insert(pg.text, name, value), nil
	}
	_, _, to := pg.child(n, count(n)-1)
	return pg.insert(to, name, value, n.Column-1), nil
}

// isShortEmpty says that " {}" or " []" follows a colon.
func (pg page) isShortEmpty(colon int) bool {
	rest := pg.text[colon+1:]
	return bytes.HasPrefix(rest, []byte(" {}")) || bytes.HasPrefix(rest, []byte(" []"))
}

// insert puts a member or an element on lines of its own behind a line.
func (pg page) insert(at int, name string, value any, column int) []byte {
	return splice(pg.text, at, at, lineEnd(pg.text)+pg.block(name, value, column))
}

// block is a member, or for an empty name an element, as lines but for the last line end.
func (pg page) block(name string, value any, column int) string {
	indent, lines := strings.Repeat(" ", column), ""
	if name == "" {
		lines = yamlElement(value.(tree), indent, pg.unit)
	} else {
		lines = yamlLines(tree{{name, value}}, indent, pg.unit)
	}
	return withLineEnd(strings.TrimSuffix(lines, "\n"), lineEnd(pg.text))
}

// colon is the offset of the colon after a key on one line; -1:
// there is none.
func (pg page) colon(key *yaml.Node) int {
	if key == nil {
		return -1
	}
	at := pg.offset(key)
	switch {
	case pg.text[at] == '"' || pg.text[at] == '\'':
		at = quoteEnd(pg.text, at)
	case bytes.HasPrefix(pg.text[at:], []byte(key.Value)):
		at += len(key.Value)
	default:
		return -1
	}
	for at < len(pg.text) && isBlank(pg.text[at]) {
		at++
	}
	if at == len(pg.text) || pg.text[at] != ':' {
		return -1
	}
	return at
}

// count is how many members or elements n has.
func count(n *yaml.Node) int {
	if n.Kind == yaml.MappingNode {
		return len(n.Content) / 2
	}
	return len(n.Content)
}

// child is where child j of a block begins, its line and the offset of its key or its dash, and the
// offset where its last line ends. A dash may be on a line above its element.
func (pg page) child(n *yaml.Node, j int) (line, start, to int) {
	column := n.Column - 1
	if n.Kind == yaml.MappingNode {
		key, value := n.Content[2*j], n.Content[2*j+1]
		dashes := value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && value.Column == n.Column
		line = key.Line - 1
		return line, pg.offset(key), pg.end(pg.last(line, column, dashes))
	}
	for line = n.Content[j].Line - 1; line > n.Line-1; line-- {
		text := pg.line(line)
		if len(text) > column && text[column] == '-' && len(bytes.TrimSpace(text[:column])) == 0 {
			break
		}
	}
	return line, pg.starts[line] + min(column, len(pg.line(line))), pg.end(pg.last(line, column, false))
}

// set gives child j of n another value.
func (pg page) set(n *yaml.Node, j int, value any) ([]byte, error) {
	name := ""
	if n.Kind == yaml.MappingNode {
		name = n.Content[2*j].Value
	}
	if n.Style&yaml.FlowStyle != 0 {
		f, err := pg.flow(n)
		if err != nil {
			return nil, err
		}
		if n.Kind == yaml.MappingNode {
			f.items[j].value = pg.offset(n.Content[2*j+1])
		}
		return f.replace(pg.text, j, value), nil
	}
	_, start, to := pg.child(n, j)
	return splice(pg.text, start, to, strings.TrimLeft(pg.block(name, value, n.Column-1), " ")), nil
}

// flow is n as text, if it is what it seems.
func (pg page) flow(n *yaml.Node) (flow, error) {
	f, ok := scanFlow(pg.text, pg.offset(n))
	f.unit = pg.unit
	if !ok || len(f.items) != count(n) {
		return flow{}, errOdd
	}
	return f, nil
}

// scanFlow finds the items between a bracket and the one that closes it.
func scanFlow(text []byte, open int) (flow, bool) {
	f := flow{open: open, inline: true}
	depth, from, to := 0, -1, -1
	fresh := true // a quote here begins a string; elsewhere it is part of a word
	done := func(comma int) {
		if from >= 0 {
			f.items = append(f.items, item{from: from, to: to, value: from, comma: comma})
		}
		from, fresh = -1, true
	}
	for i := open; i < len(text); i++ {
		start := i
		switch c := text[i]; {
		case isSpace(c):
			continue
		case c == '#' && isSpace(text[i-1]):
			i = endOfLine(text, i)
			continue
		case c == '[' || c == '{':
			if depth++; depth == 1 {
				continue
			}
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				done(-1)
				f.close = i
				return f, true
			}
		case c == ',' && depth == 1:
			done(i)
			continue
		case (c == '"' || c == '\'') && fresh:
			i = quoteEnd(text, i) - 1
		}
		if depth == 0 {
			return f, false
		}
		if from < 0 {
			from = start
		}
		to = i + 1
		fresh = strings.IndexByte(",:[{?", text[i]) >= 0
	}
	return f, false
}
