package toolkit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// member is a field of a struct as JSON sees it: embedded structs are
// flattened, index leads to it from the outermost struct.
type member struct {
	name  string
	omit  bool // omitempty or omitzero
	index []int
	as    reflect.Type
	tag   reflect.StructTag
}

// members lists the JSON fields of a struct in reading order. It panics on what
// encoding/json and a schema would not agree on; a table with such a struct is
// wrong before anything is served.
func members(t reflect.Type) []member {
	var all []member
	for f := range t.Fields() {
		all = append(all, membersOf(t, f)...)
	}
	for i, m := range all {
		if slices.ContainsFunc(all[:i], func(o member) bool { return o.name == m.name }) {
			panic(fmt.Sprintf("%s has two fields named %q in JSON", t, m.name))
		}
	}
	return all
}

func membersOf(t reflect.Type, f reflect.StructField) []member {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-" && options == "":
		return nil
	case f.Anonymous && name == "":
		return embedded(t, f)
	case !f.IsExported():
		return nil
	case name == "":
		panic(fmt.Sprintf("field %s of %s has no name in JSON", f.Name, t))
	case slices.Contains(strings.Split(options, ","), "string"):
		panic(fmt.Sprintf("field %s of %s uses the option string, which no schema can say", f.Name, t))
	}
	if word := unknownTag(f.Tag); word != "" {
		panic(fmt.Sprintf("field %s of %s has the unknown tag %q", f.Name, t, word))
	}
	omit := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
	return []member{{name: name, omit: omit, index: f.Index, as: f.Type, tag: f.Tag}}
}

func embedded(t reflect.Type, f reflect.StructField) []member {
	if f.Type.Kind() != reflect.Struct {
		panic(fmt.Sprintf("%s embeds %s; embed the struct itself", t, f.Type))
	}
	inner := members(f.Type)
	for i := range inner {
		inner[i].index = append(slices.Clone(f.Index), inner[i].index...)
	}
	return inner
}

// unknownTag is the first tag that nobody reads, so that a misspelt one does
// not silently allow what it was meant to refuse.
func unknownTag(tag reflect.StructTag) string {
	rest := string(tag)
	for strings.TrimSpace(rest) != "" {
		word, after, ok := strings.Cut(strings.TrimLeft(rest, " "), ":\"")
		if !ok || !slices.Contains(knownTags(), word) {
			return word
		}
		end := closing(after)
		if end < 0 {
			return word
		}
		rest = after[end+1:]
	}
	return ""
}

func knownTags() []string {
	return []string{"json", "doc", "min", "max", "default", "enum", "minItems", "maxItems", "path", "secret", "content"}
}

// closing is the index of the quotation mark that ends a tag's value.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
