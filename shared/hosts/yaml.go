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
}

func newPage(text []byte) page {
	pg := page{text, []int{0}}
	for i := 0; i < len(text); i++ {
		n := lineBreak(text[i:])
		if n > 0 {
			i += n - 1
			pg.starts = append(pg.starts, i+1)
		}
	}
	return pg
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
		case indent > column || dashes && indent == column && isDash(body):
			last = i
		case body[0] != '#':
			return last
		}
	}
	return last
}

func isDash(body []byte) bool { return body[0] == '-' && (len(body) == 1 || isBlank(body[1])) }

var errOdd = errors.New("not written as this package knows it")

func putYAML(text []byte, p pointer, value any) ([]byte, error) {
	pg := newPage(text)
	root, err := rootNode(text)
	if err != nil {
		return nil, err
	}
	unit := pg.unit(root)
	node := root
	var key *yaml.Node // of node; nil: it has none, or none that stands in a block
	steps := p.keys()
	for i, step := range steps {
		inList := p.list && i == len(p.under)
		rest := nestedIn(steps[i+1:], value)
		switch j := childOf(node, step, inList); {
		case j < 0 && inList:
			return pg.add(node, key, "", rest, unit)
		case j < 0 && p.list && i < len(p.under):
			return pg.add(node, key, step, nestedIn(steps[i+1:len(p.under)], []tree{value.(tree)}), unit)
		case j < 0:
			return pg.add(node, key, step, rest, unit)
		case i == len(steps)-1:
			return pg.set(node, j, value, unit)
		case inList:
			node, key = node.Content[j], nil
		default:
			key = blockKey(node, j)
			node = node.Content[2*j+1]
		}
	}
	return nil, errOdd
}

// blockKey is key j of a mapping that is a block, or nil.
func blockKey(n *yaml.Node, j int) *yaml.Node {
	if n.Style&yaml.FlowStyle != 0 {
		return nil
	}
	return n.Content[2*j]
}

func takeYAML(text []byte, p pointer) ([]byte, error) {
	pg := newPage(text)
	node, err := rootNode(text)
	if err != nil {
		return nil, err
	}
	var key *yaml.Node
	for _, step := range p.under {
		j := childOf(node, step, false)
		if j < 0 {
			return nil, errOdd
		}
		key = blockKey(node, j)
		node = node.Content[2*j+1]
	}
	j := childOf(node, p.name, p.list)
	if j < 0 {
		return nil, errOdd
	}
	return pg.remove(node, key, j)
}

// rootNode is the value of the document; a document that holds nothing is null.
func rootNode(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	}
	if isNull(doc.Content[0]) && doc.Content[0].Value == "" {
		doc.Content[0].Line = 0 // behind "---"
	}
	return doc.Content[0], nil
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

// unit is what a mapping within the top one is indented by.
func (pg page) unit(root *yaml.Node) string {
	for _, n := range root.Content {
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && n.Column > root.Column {
			return strings.Repeat(" ", n.Column-root.Column)
		}
	}
	return "  "
}

// add puts a new member, or for an empty name a new element, behind the last one
// of n, which is the value of key.
func (pg page) add(n, key *yaml.Node, name string, value any, unit string) ([]byte, error) {
	switch {
	case isNull(n) && n.Line == 0: // the document holds nothing but comments
		return pg.append(name, value, unit), nil
	case isNull(n) || len(n.Content) == 0 && pg.isShortEmpty(n, key):
		return pg.first(n, key, name, value, unit)
	case n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode:
		return nil, notContainer(name)
	case n.Style&yaml.FlowStyle != 0:
		f, err := pg.flow(n)
		if err != nil {
			return nil, err
		}
		return f.insert(pg.text, name, value), nil
	}
	column := n.Column - 1
	at := pg.end(pg.lastOf(n, count(n)-1))
	return pg.insert(at, block(name, value, strings.Repeat(" ", column), unit)), nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// block is a member or an element on lines of its own.
func block(name string, value any, indent, unit string) string {
	if name == "" {
		return yamlElement(value.(tree), indent, unit)
	}
	return yamlLines(tree{{name, value}}, indent, unit)
}

// insert puts lines behind a line.
func (pg page) insert(at int, lines string) []byte {
	end := lineEnd(pg.text)
	return splice(pg.text, at, at, end+withLineEnd(strings.TrimSuffix(lines, "\n"), end))
}

// append puts lines at the end.
func (pg page) append(name string, value any, unit string) []byte {
	at := len(bytes.TrimRight(pg.text, " \t\r\n"))
	return pg.insert(at, block(name, value, "", unit))
}

// isShortEmpty says that n is written as " {}" or " []" right behind its key.
func (pg page) isShortEmpty(n, key *yaml.Node) bool {
	colon := pg.colon(key)
	return colon >= 0 && (bytes.HasPrefix(pg.text[colon+1:], []byte(" {}")) || bytes.HasPrefix(pg.text[colon+1:], []byte(" []"))) &&
		pg.offset(n) == colon+2
}

// first puts the first member or element of an empty n, on lines of its own.
func (pg page) first(n, key *yaml.Node, name string, value any, unit string) ([]byte, error) {
	colon := pg.colon(key)
	if colon < 0 {
		return nil, errOdd
	}
	text := pg.text
	if !isNull(n) {
		text = splice(text, colon+1, colon+4, "")
	} else if rest := bytes.TrimSpace(text[colon+1 : pg.end(key.Line-1)]); len(rest) > 0 && rest[0] != '#' {
		return nil, errOdd
	}
	pg = newPage(text)
	column := key.Column - 1
	indent := strings.Repeat(" ", column) + unit
	return pg.insert(pg.end(pg.last(key.Line-1, column, false)), block(name, value, indent, unit)), nil
}

// colon is the offset of the colon behind a key that stands on one line; -1:
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

// child is the first line of child j of a block, and its value. An element begins
// at its dash, which may stand on a line above.
func (pg page) child(n *yaml.Node, j int) (first int, value *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		return n.Content[2*j].Line - 1, n.Content[2*j+1]
	}
	first = n.Content[j].Line - 1
	for first > n.Line-1 && !pg.hasDash(first, n.Column-1) {
		first--
	}
	return first, n.Content[j]
}

// hasDash says that a line has a dash in that column, and nothing before it.
func (pg page) hasDash(line, column int) bool {
	text := pg.line(line)
	return len(text) > column && text[column] == '-' && len(bytes.TrimSpace(text[:column])) == 0
}

// lastOf is the last line of child j.
func (pg page) lastOf(n *yaml.Node, j int) int {
	first, value := pg.child(n, j)
	dashes := n.Kind == yaml.MappingNode && value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0 && value.Column == n.Column
	return pg.last(first, n.Column-1, dashes)
}

// remove takes child j of n out. The last one leaves an empty container.
func (pg page) remove(n, key *yaml.Node, j int) ([]byte, error) {
	if n.Style&yaml.FlowStyle != 0 {
		f, err := pg.flow(n)
		if err != nil {
			return nil, err
		}
		return f.remove(pg.text, j), nil
	}
	first, _ := pg.child(n, j)
	from, to := pg.starts[first], pg.end(pg.lastOf(n, j))
	if len(bytes.TrimSpace(pg.text[from:pg.childStart(n, j)])) > 0 {
		return nil, errOdd // it begins behind something else
	}
	if first > 0 {
		from = pg.end(first - 1)
	} else {
		to = min(to+len(lineEnd(pg.text)), len(pg.text))
	}
	out := splice(pg.text, from, to, "")
	if count(n) > 1 {
		return out, nil
	}
	colon := pg.colon(key)
	if colon < 0 {
		return nil, errOdd
	}
	if n.Kind == yaml.MappingNode {
		return splice(out, colon+1, colon+1, " {}"), nil
	}
	return splice(out, colon+1, colon+1, " []"), nil
}

// childStart is where child j begins: at its key, or at its dash.
func (pg page) childStart(n *yaml.Node, j int) int {
	if n.Kind == yaml.MappingNode {
		return pg.offset(n.Content[2*j])
	}
	first, _ := pg.child(n, j)
	return pg.starts[first] + min(n.Column-1, len(pg.line(first)))
}

// set gives child j of n another value.
func (pg page) set(n *yaml.Node, j int, value any, unit string) ([]byte, error) {
	if n.Style&yaml.FlowStyle != 0 {
		f, err := pg.flow(n)
		if err != nil {
			return nil, err
		}
		if _, was := pg.child(n, j); n.Kind == yaml.MappingNode {
			f.items[j].value = pg.offset(was)
		}
		return f.replace(pg.text, j, value), nil
	}
	indent := strings.Repeat(" ", n.Column-1)
	from, to := pg.childStart(n, j), pg.end(pg.lastOf(n, j))
	name := ""
	if n.Kind == yaml.MappingNode {
		name = n.Content[2*j].Value
	}
	lines := withLineEnd(strings.TrimSuffix(block(name, value, indent, unit), "\n"), lineEnd(pg.text))
	return splice(pg.text, from, to, strings.TrimPrefix(lines, indent)), nil
}

// flow is n as text, where that is what it seems.
func (pg page) flow(n *yaml.Node) (flow, error) {
	f, ok := scanFlow(pg.text, pg.offset(n))
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
