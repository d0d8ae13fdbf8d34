package hosts

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/multiollama/mcp-server/shared/fault"
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

// tooDeep says that brackets are nested more than maxDepth deep: the parser calls itself
// for each, and a stack has an end.
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

func putJSON(text []byte, p pointer, value any) ([]byte, error) {
	keys := p.keys()
	f, depth, member, err := findJSON(text, keys)
	switch {
	case err != nil:
		return nil, err
	case member < 0:
		return f.insert(text, keys[depth], nestedIn(keys[depth+1:], value)), nil
	}
	return f.replace(text, member, value), nil
}

func takeJSON(text []byte, p pointer) ([]byte, error) {
	f, _, member, err := findJSON(text, p.keys())
	if err != nil || member < 0 {
		return nil, err
	}
	return f.remove(text, member), nil
}

// findJSON follows keys from the top, as far as there are members of these names: the last object,
// how many keys lead to it, and the member of the next key; -1: none.
func findJSON(text []byte, keys []string) (f flow, depth, member int, err error) {
	v, err := hujson.Parse(slices.Clone(text))
	if err != nil {
		return flow{}, 0, 0, broken(err.Error(), err)
	}
	name, unit := "the top", ""
	for depth, key := range keys {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return flow{}, 0, 0, notContainer(name)
		}
		f := flow{open: v.StartOffset, close: v.EndOffset - 1}
		member := -1
		for i, m := range o.Members {
			f.items = append(f.items, item{m.Name.StartOffset, m.Value.EndOffset, m.Value.StartOffset, commaBehind(text, m.Value.EndOffset)})
			if literal, ok := m.Name.Value.(hujson.Literal); !ok || literal.String() != key {
				continue
			}
			if member >= 0 {
				return flow{}, 0, 0, fault.New(fault.Misconfigured, key+" stands twice in the file", "Remove one of them, then try again")
			}
			member = i
		}
		if depth == 0 {
			unit = f.indentation(text)
		}
		if f.unit = unit; member < 0 || depth == len(keys)-1 {
			return f, depth, member, nil
		}
		v, name = o.Members[member].Value, key
	}
	panic("hosts: a pointer has no keys")
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
