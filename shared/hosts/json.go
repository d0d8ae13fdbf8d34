package hosts

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"
)

// decodeJSON reads JSON that may have comments and trailing commas.
func decodeJSON(text []byte) (any, error) {
	if tooDeep(text) {
		return nil, broken("it is nested too deeply", nil)
	}
	standard, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		return nil, broken(err.Error(), err)
	}
	d := json.NewDecoder(bytes.NewReader(standard))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, broken(err.Error(), err)
	}
	return v, nil
}

// tooDeep says that brackets lie in each other more than maxDepth deep: the parser
// calls itself for each, and a stack is not without end.
func tooDeep(text []byte) bool {
	const maxDepth = 10_000
	depth := 0
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == '"':
			i = quoteEnd(text, i) - 1
		case bytes.HasPrefix(rest, []byte("/*")) || bytes.HasPrefix(rest, []byte("//")):
			i += commentLength(rest) - 1
		case rest[0] == '[' || rest[0] == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case rest[0] == ']' || rest[0] == '}':
			depth--
		}
	}
	return false
}

// commentLength is the length of the comment that s begins with.
func commentLength(s []byte) int {
	end := "*/"
	if s[1] == '/' {
		end = "\n"
	}
	if n := bytes.Index(s[2:], []byte(end)); n >= 0 {
		return 2 + n + len(end)
	}
	return len(s)
}

func putJSON(text []byte, p where, value any) ([]byte, error) {
	root, err := rootOf(text)
	if err != nil {
		return nil, err
	}
	unit := root.flow(text).unitOf(text)
	keys := p.keys()
	for i, key := range keys {
		j, err := root.find(key)
		if err != nil {
			return nil, err
		}
		if j < 0 {
			return root.flow(text).insert(text, key, nestedIn(keys[i+1:], value), unit), nil
		}
		if i == len(keys)-1 {
			return root.flow(text).replace(text, j, value, unit), nil
		}
		if root, err = root.below(j, key); err != nil {
			return nil, err
		}
	}
	panic("hosts: a place has no keys")
}

func takeJSON(text []byte, p where) ([]byte, error) {
	at, err := rootOf(text)
	if err != nil {
		return nil, err
	}
	for _, key := range p.under {
		j, err := at.find(key)
		if err == nil {
			at, err = at.below(j, key)
		}
		if err != nil {
			return nil, err
		}
	}
	j, err := at.find(p.name)
	if err != nil {
		return nil, err
	}
	return at.flow(text).remove(text, j), nil
}

// object is one as hujson found it.
type object struct {
	*hujson.Object
	from, to int
}

func rootOf(text []byte) (object, error) {
	v, err := hujson.Parse(slices.Clone(text))
	if err != nil {
		return object{}, broken(err.Error(), err)
	}
	return objectOf(v, "the top")
}

func objectOf(v hujson.Value, key string) (object, error) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return object{}, notContainer(key)
	}
	return object{o, v.StartOffset, v.EndOffset}, nil
}

// find is the member of that name; -1: none.
func (o object) find(key string) (int, error) {
	found := -1
	for i, m := range o.Members {
		name, ok := m.Name.Value.(hujson.Literal)
		if !ok || name.String() != key {
			continue
		}
		if found >= 0 {
			return 0, twice(key)
		}
		found = i
	}
	return found, nil
}

func (o object) below(i int, key string) (object, error) { return objectOf(o.Members[i].Value, key) }

// flow is the object as text.
func (o object) flow(text []byte) flow {
	f := flow{open: o.from, close: o.to - 1}
	for _, m := range o.Members {
		it := item{from: m.Name.StartOffset, to: m.Value.EndOffset, value: m.Value.StartOffset}
		it.comma = commaBehind(text, it.to)
		f.items = append(f.items, it)
	}
	return f
}

// commaBehind is the offset of the comma behind an item; -1: there is none.
func commaBehind(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		switch rest := text[i:]; {
		case rest[0] == ',':
			return i
		case isSpace(rest[0]):
		case bytes.HasPrefix(rest, []byte("/*")) || bytes.HasPrefix(rest, []byte("//")):
			i += commentLength(rest) - 1
		default:
			return -1
		}
	}
	return -1
}
