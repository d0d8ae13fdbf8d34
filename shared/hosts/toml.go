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

func putTOML(text []byte, p pointer, value any) ([]byte, error) {
	keys := p.keys()
	all := expressions(text)
	t, whole := value.(tree)
	if !whole {
		return putKey(text, all, p, value)
	}
	if slices.ContainsFunc(all, func(e expression) bool { return !e.head && slices.Equal(e.path, p.under) }) {
		return nil, notContainer(p.under[0])
	}
	if slices.ContainsFunc(all, func(e expression) bool { return begins(e.path, keys...) }) {
		text, _ = takeTOML(text, p)
	}
	return putTable(text, p, t), nil
}

// putTable adds a table behind the last of its kind, or at the end.
func putTable(text []byte, p pointer, t tree) []byte {
	all := expressions(text)
	end := lineEnd(text)
	table := withLineEnd(asTOML(nestedIn(p.keys(), t).(tree)), end)
	at := len(bytes.TrimRight(text, " \t\r\n"))
	for i, e := range slices.Backward(all) {
		if e.head && begins(e.path, p.under...) {
			at = sectionEnd(text, all, i)
			break
		}
	}
	if at == 0 {
		return splice(text, 0, 0, table)
	}
	return splice(text, at, at, end+end+table[:len(table)-len(end)])
}

// sectionEnd is the end of the last line that belongs to the table that begins
// with expression i. Comments right below it belong to it, unless they stand
// right above the next table.
func sectionEnd(text []byte, all []expression, i int) int {
	body := bodyEnd(text, all, i)
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

// bodyEnd is the end of the last line of the table that says something.
func bodyEnd(text []byte, all []expression, i int) int {
	last := i
	for last+1 < len(all) && !all[last+1].head {
		last++
	}
	return endOfLine(text, all[last].to)
}

// putKey gives a key of the entry a value, or adds it to the entry's table.
func putKey(text []byte, all []expression, p pointer, value any) ([]byte, error) {
	keys := p.keys()
	if i := slices.IndexFunc(all, func(e expression) bool { return !e.head && slices.Equal(e.path, keys) }); i >= 0 {
		return splice(text, all[i].value, all[i].to, scalar(value)), nil
	}
	table := keys[:len(keys)-1]
	i := slices.IndexFunc(all, func(e expression) bool { return e.head && slices.Equal(e.path, table) })
	if i < 0 {
		return nil, notContainer(p.name)
	}
	at := bodyEnd(text, all, i)
	return splice(text, at, at, lineEnd(text)+margin(text, all[i].to)+p.member+" = "+scalar(value)), nil
}

// takeTOML removes every table and key of the entry, each table with the empty
// line above it. Comments above it stay.
func takeTOML(text []byte, p pointer) ([]byte, error) {
	all := expressions(text)
	for i, e := range slices.Backward(all) {
		switch {
		case !begins(e.path, p.keys()...):
		case e.head:
			text = cutTable(text, e.from, bodyEnd(text, all, i))
		case !belongs(all, i, p):
			from := bytes.LastIndexByte(text[:e.from], '\n') + 1
			to := endOfLine(text, e.to)
			text = splice(text, from, to+lineBreakAt(text, to), "")
		}
	}
	return text, nil
}

// belongs says that key-value i stands below a head of the entry, with which it
// goes.
func belongs(all []expression, i int, p pointer) bool {
	for ; i >= 0; i-- {
		if all[i].head {
			return begins(all[i].path, p.keys()...)
		}
	}
	return false
}

// cutTable removes a table and the empty line above it; at the top the one below.
func cutTable(text []byte, from, to int) []byte {
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
	return splice(text, from, to, "")
}

// lineBreakAt is the length of the line end at an offset; 0 where there is none.
func lineBreakAt(text []byte, at int) int {
	if at == len(text) {
		return 0
	}
	return lineBreak(text[at:])
}
