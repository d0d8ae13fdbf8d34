package jsonx

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of what one call may send. encoding/json allows 10,000 levels and any
// number of values, so that a line of 16 MiB could ask for a gigabyte of values.
const (
	maxDepth  = 64
	maxValues = 100_000
)

// Kind is what a value is. The zero Kind is no value.
type Kind byte

// The kinds of values.
const (
	_ Kind = iota
	Null
	Bool
	Number
	String
	List
	Object
)

// Value is a value as it was sent. Raw keeps its bytes, so that a number is read with the
// precision that its reader needs.
type Value struct {
	Kind Kind
	Name string // of an object's member
	Raw  []byte
	Kids []Value
	text string
}

// Parse reads the arguments of a call: one value and nothing after it. An error is a
// *Malformed. Where encoding/json would read them all the same, there is a value too.
func Parse(in []byte) (Value, error) {
	p := parser{Scanner: Scanner{in: in}}
	v, ok := p.value(0)
	if ok && !p.End() {
		ok = p.fail("there is something after the end of the arguments")
	}
	if !ok {
		v = Value{}
	}
	if p.wrong != nil {
		return v, p.wrong
	}
	return v, nil
}

type parser struct {
	Scanner
	values int
}

func (p *parser) value(depth int) (v Value, ok bool) {
	first := p.Scanner.Kind()
	start := p.at
	if depth > maxDepth {
		return v, p.fail(fmt.Sprintf("the arguments are nested deeper than %d levels", maxDepth))
	}
	if p.values++; p.values > maxValues {
		return v, p.fail(fmt.Sprintf("the arguments hold more than %d values", maxValues))
	}
	switch first {
	case '{':
		v.Kind = Object
		ok = p.Object(func(name []byte) bool {
			kid, ok := p.value(depth + 1)
			kid.Name = Text(name)
			v.Kids = append(v.Kids, kid)
			return ok
		})
	case '[':
		v.Kind = List
		ok = p.List(func() bool {
			kid, ok := p.value(depth + 1)
			v.Kids = append(v.Kids, kid)
			return ok
		})
	case '"':
		v.Kind = String
		if p.skipString() {
			v.text, ok = unescape(p.in[start+1 : p.at-1])
		}
		if !ok { // the scanner says what is wrong
			p.at = start
			if ok = p.Quoted(); ok {
				v.text = Text(p.in[start:p.at])
			}
		}
	default:
		v.Kind, ok = kinds[first], p.Value()
	}
	v.Raw = p.in[start:p.at]
	return v, ok
}

// kinds are those of the values that are not nested, by their first bytes.
var kinds = [256]Kind{
	't': Bool, 'f': Bool, 'n': Null, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number, '5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Text is the text of a string, "" for any other value. What is not UTF-8, or half of a
// surrogate pair, is U+FFFD there.
func (v Value) Text() string { return v.text }

// Member is the member of that name, the last one where there are several; a Value without
// a kind where there is none.
func (v Value) Member(name string) Value {
	for _, kid := range slices.Backward(v.Kids) {
		if v.Kind == Object && kid.Name == name {
			return kid
		}
	}
	return Value{}
}

// Sorted are the members of an object by name, of those with one name the last.
func (v Value) Sorted() []Value {
	all := slices.Clone(v.Kids)
	slices.SortStableFunc(all, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	last := all[:0]
	for i, kid := range all {
		if i+1 == len(all) || all[i+1].Name != kid.Name {
			last = append(last, kid)
		}
	}
	return last
}

// AppendCanonical appends the value in one spelling: without space, members sorted, texts as
// [AppendText] writes them. Numbers stay as they are.
func (v Value) AppendCanonical(b []byte) []byte {
	switch v.Kind {
	case String:
		return AppendText(b, v.Text())
	case List:
		b = append(b, '[')
		for i, kid := range v.Kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.AppendCanonical(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, kid := range v.Sorted() {
			if i > 0 {
				b = append(b, ',')
			}
			b = kid.AppendCanonical(append(AppendText(b, kid.Name), ':'))
		}
		return append(b, '}')
	}
	return append(b, v.Raw...)
}
