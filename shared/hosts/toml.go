package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

func decodeTOML(text []byte) (any, error) {
	var v map[string]any
	err := toml.Unmarshal(text, &v)
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := e.Position()
		return nil, broken(fmt.Sprintf("line %d, column %d: %s", line, column, e.Error()), err)
	}
	if err != nil {
		return nil, broken(err.Error(), err)
	}
	return v, nil
}

// expression is a line of TOML that says something: the head of a table, or a
// key with its value.
type expression struct {
	head     bool
	path     []string // from the top
	from, to int
	value    int // where the value begins
}

// expressions are all of a text that parses.
func expressions(text []byte) []expression {
	var all []expression
	var table []string
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		n := p.Expression()
		var path []string
		var keys []unstable.Range
		for it := n.Key(); it.Next(); {
			path = append(path, string(it.Node().Data))
			keys = append(keys, it.Node().Raw)
		}
		last := keys[len(keys)-1]
		end := int(last.Offset + last.Length)
		if n.Kind == unstable.KeyValue {
			e := expression{path: slices.Concat(table, path), from: int(n.Raw.Offset), to: int(n.Raw.Offset + n.Raw.Length)}
			e.value = end + bytes.IndexByte(text[end:], '=') + 1
			for isBlank(text[e.value]) {
				e.value++
			}
			all = append(all, e)
			continue
		}
		table = path
		from := bytes.LastIndexByte(text[:keys[0].Offset], '\n') + 1
		all = append(all, expression{head: true, path: path, from: from, to: end + bytes.IndexByte(text[end:], ']') + 1})
	}
	return all
}

// begins says that path begins with the keys.
func begins(path []string, keys ...string) bool {
	return len(path) >= len(keys) && slices.Equal(path[:len(keys)], keys)
}

// bodyEnd is the end of the last line of the table of expression i that is not a comment.
func bodyEnd(text []byte, all []expression, i int) int {
	for i+1 < len(all) && !all[i+1].head {
		i++
	}
	return endOfLine(text, all[i].to)
}

// putTOML writes the entry as a table behind the last one of its kind, or at the end, or gives a
// key of its table a value.
func putTOML(text []byte, p pointer, value any) ([]byte, error) {
	all, keys := expressions(text), p.keys()
	is := func(head bool, path []string) func(expression) bool {
		return func(e expression) bool { return e.head == head && slices.Equal(e.path, path) }
	}
	t, whole := value.(tree)
	if !whole {
		if i := slices.IndexFunc(all, is(false, keys)); i >= 0 {
			return splice(text, all[i].value, all[i].to, spaced(value)), nil
		}
		i := slices.IndexFunc(all, is(true, keys[:len(keys)-1]))
		if i < 0 {
			return nil, notContainer(p.name)
		}
		at := bodyEnd(text, all, i)
		return splice(text, at, at, lineEnd(text)+margin(text, all[i].to)+p.member+" = "+spaced(value)), nil
	}
	if slices.ContainsFunc(all, is(false, p.under)) {
		return nil, notContainer(p.under[0])
	}
	if slices.ContainsFunc(all, func(e expression) bool { return begins(e.path, keys...) }) {
		text, _ = takeTOML(text, p)
		all = expressions(text)
	}
	at := len(bytes.TrimRight(text, " \t\r\n"))
	for i, e := range slices.Backward(all) {
		if e.head && begins(e.path, p.under...) {
			at = sectionEnd(text, bodyEnd(text, all, i))
			break
		}
	}
	end := lineEnd(text)
	table := withLineEnd(asTOML(nestedIn(keys, t).(tree)), end)
	if at == 0 {
		return splice(text, 0, 0, table), nil
	}
	return splice(text, at, at, end+end+table[:len(table)-len(end)]), nil
}

// sectionEnd is the end of the comments right below a table that ends at body. They belong to it, unless
// they are right above the next table.
func sectionEnd(text []byte, body int) int {
	end, at := body, body
	for at < len(text) {
		line, _, _ := bytes.Cut(text[at+1:], []byte("\n"))
		trimmed := bytes.TrimSpace(line)
		switch {
		case len(trimmed) == 0:
			return end
		case trimmed[0] != '#':
			return body
		}
		at += 1 + len(line)
		end = at - (len(line) - len(bytes.TrimRight(line, "\r")))
	}
	return end
}

// takeTOML removes every table and key of the entry. The empty line above a table goes with it, at the top
// of the file the one below. Comments above it stay.
func takeTOML(text []byte, p pointer) ([]byte, error) {
	all, keys := expressions(text), p.keys()
	for i, e := range slices.Backward(all) {
		if !begins(e.path, keys...) {
			continue
		}
		from, to := e.from, 0
		if e.head {
			to = bodyEnd(text, all, i)
			for range 2 {
				switch {
				case from == 0:
					to += lineBreakAt(text, to)
				case bytes.HasSuffix(text[:from], []byte("\r\n")):
					from -= 2
				case bytes.HasSuffix(text[:from], []byte("\n")):
					from--
				}
			}
		} else {
			head := i
			for head >= 0 && !all[head].head {
				head--
			}
			if head >= 0 && begins(all[head].path, keys...) {
				continue // it goes with its table
			}
			from = bytes.LastIndexByte(text[:from], '\n') + 1
			to = endOfLine(text, e.to)
			to += lineBreakAt(text, to)
		}
		text = splice(text, from, to, "")
	}
	return text, nil
}

// lineBreakAt is the length of the line end at an offset; 0 if there is none.
func lineBreakAt(text []byte, at int) int {
	if at == len(text) {
		return 0
	}
	return lineBreak(text[at:])
}
