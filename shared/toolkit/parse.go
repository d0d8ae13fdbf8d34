package toolkit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/quoted"
)

// Limits of what one call may send. encoding/json allows 10,000 levels and any
// number of values, so that a line of 16 MiB could ask for a gigabyte of nodes.
const (
	maxDepth  = 64
	maxValues = 100_000
)

// kind is what a JSON value is. The zero kind is no value.
type kind byte

const (
	_ kind = iota
	kindNull
	kindBool
	kindNumber
	kindText
	kindList
	kindObject
)

// node is one JSON value as it was sent. raw keeps its bytes, so that a number
// is read with the precision its parameter has.
type node struct {
	kind kind
	name string // of an object's member
	raw  []byte
	kids []node
}

// parser reads JSON strictly by RFC 8259, and by I-JSON (RFC 7493) where that
// is narrower: UTF-8 only, no lone surrogates. Its invariant: a node of
// kindText has a raw that unquote can decode.
type parser struct {
	in     []byte
	at     int
	values int
}

// parse reads one JSON value and nothing after it.
func parse(raw []byte) (node, *fault.Error) {
	p := &parser{in: raw}
	p.space()
	n, err := p.value(0)
	if err != nil {
		return node{}, err
	}
	p.space()
	if p.at < len(p.in) {
		return node{}, p.malformed("there is something after the end of the arguments")
	}
	return n, nil
}

func (p *parser) malformed(what string) *fault.Error {
	return fault.New(fault.ParamMalformed, fmt.Sprintf("%s (byte %d)", what, p.at), "Send the arguments as one JSON object").With("byte", p.at)
}

func (p *parser) space() {
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// peek is the byte at hand, 0 at the end; a literal NUL is no JSON either.
func (p *parser) peek() byte {
	if p.at < len(p.in) {
		return p.in[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (node, *fault.Error) {
	if depth > maxDepth {
		return node{}, p.malformed(fmt.Sprintf("the arguments are nested deeper than %d levels", maxDepth))
	}
	if p.values++; p.values > maxValues {
		return node{}, p.malformed(fmt.Sprintf("the arguments hold more than %d values", maxValues))
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.list(depth)
	case c == '"':
		raw, err := p.quoted()
		return node{kind: kindText, raw: raw}, err
	case c == '-' || isDigit(c):
		return p.number()
	default:
		return p.word()
	}
}

func (p *parser) word() (node, *fault.Error) {
	for _, w := range []struct {
		text string
		kind kind
	}{{"true", kindBool}, {"false", kindBool}, {"null", kindNull}} {
		if end := p.at + len(w.text); end <= len(p.in) && string(p.in[p.at:end]) == w.text {
			n := node{kind: w.kind, raw: p.in[p.at:end]}
			p.at = end
			return n, nil
		}
	}
	return node{}, p.malformed("the arguments are not well-formed JSON")
}

func (p *parser) object(depth int) (node, *fault.Error) {
	n := node{kind: kindObject}
	start := p.at
	for p.at++; ; p.at++ {
		p.space()
		if p.peek() == '}' && len(n.kids) == 0 {
			break
		}
		member, err := p.member(depth)
		if err != nil {
			return node{}, err
		}
		n.kids = append(n.kids, member)
		if c := p.peek(); c == '}' {
			break
		} else if c != ',' {
			return node{}, p.malformed("the arguments are not well-formed JSON")
		}
	}
	p.at++
	n.raw = p.in[start:p.at]
	return n, nil
}

func (p *parser) member(depth int) (node, *fault.Error) {
	if p.peek() != '"' {
		return node{}, p.malformed("the arguments are not well-formed JSON")
	}
	name, err := p.quoted()
	if err != nil {
		return node{}, err
	}
	p.space()
	if p.peek() != ':' {
		return node{}, p.malformed("the arguments are not well-formed JSON")
	}
	p.at++
	p.space()
	n, err := p.value(depth + 1)
	n.name = unquote(name)
	p.space()
	return n, err
}

func (p *parser) list(depth int) (node, *fault.Error) {
	n := node{kind: kindList}
	start := p.at
	for p.at++; ; p.at++ {
		p.space()
		if p.peek() == ']' && len(n.kids) == 0 {
			break
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return node{}, err
		}
		n.kids = append(n.kids, item)
		p.space()
		if c := p.peek(); c == ']' {
			break
		} else if c != ',' {
			return node{}, p.malformed("the arguments are not well-formed JSON")
		}
	}
	p.at++
	n.raw = p.in[start:p.at]
	return n, nil
}

func (p *parser) number() (node, *fault.Error) {
	start := p.at
	size, ok := quoted.Number(p.in[start:])
	p.at += size
	if !ok {
		return node{}, p.malformed("the arguments hold something that is not a number in JSON")
	}
	return node{kind: kindNumber, raw: p.in[start:p.at]}, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// quoted takes a string with its quotation marks, which unquote can then decode.
func (p *parser) quoted() ([]byte, *fault.Error) {
	start := p.at
	size, wrong := quoted.Valid(p.in[start:])
	p.at += size
	switch wrong {
	case quoted.Unended:
		return nil, p.malformed("the arguments end within a text")
	case quoted.Control:
		return nil, p.malformed("the arguments hold a control character that is not escaped")
	case quoted.BadEscape:
		return nil, p.malformed("the arguments hold an escape that JSON does not know, or half a surrogate pair")
	case quoted.NotUTF8:
		return nil, p.malformed("the arguments hold text that is not UTF-8")
	}
	return p.in[start:p.at], nil
}

// unquote decodes what quoted accepted.
func unquote(raw []byte) string { return quoted.Text(raw) }

// twice names the first member that stands twice in one object, at any depth.
// JSON leaves open which of the two counts (RFC 8259, 4), so that what is
// checked and what is used could differ.
func (n node) twice() (path string, found bool) {
	if n.kind == kindObject {
		if i := repeated(n.kids); i >= 0 {
			return n.kids[i].name, true
		}
	}
	for i, kid := range n.kids {
		if rest, found := kid.twice(); found {
			return dotted(n.step(i), rest), true
		}
	}
	return "", false
}

// dotted puts two parts of a path together, as in edits[0].path.
func dotted(before, after string) string {
	if before == "" || strings.HasPrefix(after, "[") {
		return before + after
	}
	return before + "." + after
}

// step is how a path goes from n to its i-th kid.
func (n node) step(i int) string {
	if n.kind == kindList {
		return "[" + strconv.Itoa(i) + "]"
	}
	return n.kids[i].name
}

// fewMembers is up to where comparing each with each is faster than a map.
const fewMembers = 12

// repeated is the index of the first member whose name stood before, or -1.
func repeated(members []node) int {
	if len(members) > fewMembers {
		return repeatedOfMany(members)
	}
	for i := range members {
		for j := range i {
			if members[i].name == members[j].name {
				return i
			}
		}
	}
	return -1
}

func repeatedOfMany(members []node) int {
	seen := make(map[string]bool, len(members))
	for i, m := range members {
		if seen[m.name] {
			return i
		}
		seen[m.name] = true
	}
	return -1
}

// said is a kind in the words of an error message.
func (k kind) said() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "text", "a list", "an object"}[k]
}
