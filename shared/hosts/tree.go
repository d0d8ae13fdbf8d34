package hosts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// tree is an object whose members keep their order. Values are strings, bools,
// ints, []string, tree and []tree.
type tree []member

type member struct {
	key   string
	value any
}

// nestedIn is value under keys.
func nestedIn(keys []string, value any) any {
	for _, key := range slices.Backward(keys) {
		value = tree{{key, value}}
	}
	return value
}

// MarshalJSON keeps the order.
func (t tree) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range t {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(inQuotes(m.key) + ":" + compact(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// compact is v as JSON on one line, with its characters as they are.
func compact(v any) string {
	text, err := jsonx.Marshal(v)
	if err != nil {
		panic(err) // a tree holds only what JSON can
	}
	return string(text)
}

// indented is v as JSON on lines of their own, each but the first behind prefix.
func indented(v any, prefix, unit string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(compact(v)), prefix, unit); err != nil {
		panic(err) // compact is JSON
	}
	return b.String()
}

func asJSON(t tree) string { return indented(t, "", "  ") + "\n" }

// inQuotes is s in double quotes as JSON, YAML 1.2 (section 7.3.1) and TOML 1.0
// (basic strings) all read it. TOML alone forbids a bare U+007F.
func inQuotes(s string) string { return strings.ReplaceAll(compact(s), "\x7f", `\u007f`) }

// spaced is v on one line, with a space behind each colon and comma: JSON, which YAML reads as well.
// Anything but an object is the same in TOML.
func spaced(v any) string {
	var words []string
	switch v := v.(type) {
	case string:
		return inQuotes(v)
	case tree:
		for _, m := range v {
			words = append(words, inQuotes(m.key)+": "+spaced(m.value))
		}
		return "{" + strings.Join(words, ", ") + "}"
	case []tree:
		for _, element := range v {
			words = append(words, spaced(element))
		}
	case []string:
		for _, word := range v {
			words = append(words, inQuotes(word))
		}
	default:
		return fmt.Sprint(v)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// asYAML writes keys as they are: those of the table and the names of servers
// need no quotes.
func asYAML(t tree) string { return yamlLines(t, "", "  ") }

func yamlLines(t tree, indent, unit string) string {
	var b strings.Builder
	for _, m := range t {
		switch v := m.value.(type) {
		case tree:
			b.WriteString(indent + m.key + ":\n" + yamlLines(v, indent+unit, unit))
		case []tree:
			b.WriteString(indent + m.key + ":\n")
			for _, element := range v {
				b.WriteString(yamlElement(element, indent+unit, unit))
			}
		default:
			b.WriteString(indent + m.key + ": " + spaced(v) + "\n")
		}
	}
	return b.String()
}

// yamlElement is an element of a list, its dash behind indent.
func yamlElement(t tree, indent, unit string) string {
	return indent + "- " + strings.TrimPrefix(yamlLines(t, indent+"  ", unit), indent+"  ")
}

// asTOML writes a table for each tree that holds something besides trees.
func asTOML(t tree) string { return tomlLines(t, "") }

func tomlLines(t tree, path string) string {
	var own, below strings.Builder
	for _, m := range t {
		if sub, ok := m.value.(tree); ok {
			below.WriteString(tomlLines(sub, strings.TrimPrefix(path+"."+m.key, ".")))
			continue
		}
		own.WriteString(m.key + " = " + spaced(m.value) + "\n")
	}
	if own.Len() > 0 && path != "" {
		return "[" + path + "]\n" + own.String() + below.String()
	}
	return own.String() + below.String()
}

// loose is what a parser would give of v.
func loose(v any) any {
	switch v := v.(type) {
	case tree:
		m := map[string]any{}
		for _, e := range v {
			m[e.key] = loose(e.value)
		}
		return m
	case []tree:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = loose(e)
		}
		return list
	case []string:
		list := make([]any, len(v))
		for i, word := range v {
			list[i] = word
		}
		return list
	}
	return v
}
