package toolkit

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// shape is how a JSON value becomes a Go value. Exactly one of the kinds below.
type shape struct {
	form   form
	typ    reflect.Type
	elem   *shape  // of a list
	fields []field // of a record
}

type form byte

const (
	_ form = iota
	text
	flag
	whole
	real
	list
	record
	table // map[string]string
)

// field is one parameter: its shape and what its tags say.
type field struct {
	jsonx.Field
	shape
	omit               bool // optional
	doc                string
	pointer            bool // nil says that it was not given
	fallback           reflect.Value
	fallbackText       string
	low, high          bound
	enum               []string
	minItems, maxItems int // maxItems 0: no limit
	path               bool
	quiet              bool // its value is never repeated, not even in an error
}

// bound is the limit of a number; unset when text is empty.
type bound struct {
	text  string
	value float64
}

// members lists the JSON fields of a struct in reading order. It panics on what encoding/json
// and a schema would not agree on, and on tags that nobody reads, so that a misspelt one does
// not silently allow what it was meant to refuse.
func members(t reflect.Type) []jsonx.Field {
	all, err := jsonx.Fields(t)
	if err != nil {
		panic(err.Error())
	}
	for _, f := range all {
		for rest := strings.TrimSpace(string(f.Tag)); rest != ""; rest = strings.TrimSpace(rest) {
			word, value, _ := strings.Cut(rest, ":")
			quoted, err := strconv.QuotedPrefix(value)
			if err != nil || value[0] != '"' {
				word = rest
			}
			if !slices.Contains(knownTags, word) {
				panic(fmt.Sprintf("field %s of %s has the unknown tag %q", f.Name, t, word))
			}
			rest = value[len(quoted):]
		}
	}
	return all
}

var knownTags = []string{"json", "doc", "min", "max", "default", "enum", "minItems", "maxItems", "path", "secret", "content"}

// shapeOf compiles a type of parameters, within those that hold it. It panics on a table that
// means nothing: every tag either holds or the server does not start.
func shapeOf(t reflect.Type, within ...reflect.Type) shape {
	s := shape{typ: t}
	switch t.Kind() {
	case reflect.String:
		s.form = text
	case reflect.Bool:
		s.form = flag
	case reflect.Int, reflect.Int64:
		s.form = whole
	case reflect.Float64:
		s.form = real
	case reflect.Slice:
		elem := shapeOf(t.Elem(), within...)
		s.form, s.elem = list, &elem
	case reflect.Struct:
		if slices.Contains(within, t) {
			panic(fmt.Sprintf("%s contains itself; parameters are bounded", t))
		}
		s.form = record
		for _, m := range members(t) {
			s.fields = append(s.fields, fieldOf(m, append(within, t)))
		}
	case reflect.Map:
		if t.Key().Kind() != reflect.String || t.Elem().Kind() != reflect.String {
			panic(fmt.Sprintf("%s is no parameter; of the maps only map[string]string is", t))
		}
		s.form = table
	default:
		panic(fmt.Sprintf("%s is no kind of parameter", t))
	}
	return s
}

func fieldOf(m jsonx.Field, within []reflect.Type) field {
	f := field{Field: m, omit: m.OmitEmpty || m.OmitZero, doc: m.Tag.Get("doc"), pointer: m.Type.Kind() == reflect.Pointer}
	typ := m.Type
	if f.pointer {
		typ = typ.Elem()
	}
	f.shape = shapeOf(typ, within...)
	f.check(!f.pointer || f.form <= real, "only scalars are given by pointer")
	f.check(!f.pointer || f.omit, "a pointer is optional: add omitempty")

	f.low, f.high = f.bound("min"), f.bound("max")
	f.check(f.low.text == "" || f.high.text == "" || f.low.value <= f.high.value, "min is above max")

	ofTexts := f.form == text || f.form == list && f.elem.form == text
	if s, given := m.Tag.Lookup("enum"); given {
		f.check(ofTexts, "enum is for text")
		f.enum = strings.Split(s, "|")
		f.check(!slices.Contains(f.enum, ""), "enum has an empty word")
	}

	for tag, into := range map[string]*int{"minItems": &f.minItems, "maxItems": &f.maxItems} {
		if s, given := m.Tag.Lookup(tag); given {
			n, err := strconv.Atoi(s)
			f.check(f.form == list, tag+" is for lists")
			f.check(err == nil && n > 0, tag+" is no positive number")
			*into = n
		}
	}
	f.check(f.maxItems == 0 || f.minItems <= f.maxItems, "minItems is above maxItems")

	if mode, given := m.Tag.Lookup("path"); given {
		f.check(mode == "read" || mode == "write", `path is "read" or "write"`)
		f.check(ofTexts, "path is for text")
		f.path = true
	}
	for _, tag := range []string{"secret", "content"} {
		if s, given := m.Tag.Lookup(tag); given {
			f.check(s == "true", tag+` is "true"`)
			f.quiet = true
		}
	}

	if s, given := m.Tag.Lookup("default"); given {
		f.setDefault(s)
	}
	return f
}

// setDefault reads a default as a client would send it, and checks it against the other tags.
func (f *field) setDefault(s string) {
	f.check(f.omit, "a default means optional: add omitempty")
	f.check(!f.pointer, "a pointer has no default: nil says that it was not given")
	f.check(f.form <= real, "only scalars have a default")
	raw := s
	if f.form == text {
		raw = string(mustJSON(s))
	}
	v, err := jsonx.Parse([]byte(raw))
	f.check(err == nil, "its default is not "+f.wanted())
	f.fallback, f.fallbackText = reflect.New(f.typ).Elem(), s
	if err := f.decode(v, f.fallback, where{name: f.Name}); err != nil {
		panic(fmt.Sprintf("parameter %q: its default is refused: %v", f.Name, err))
	}
}

// check panics with the field's name when a tag contradicts its type.
func (f *field) check(ok bool, why string) {
	if !ok {
		panic(fmt.Sprintf("parameter %q: %s", f.Name, why))
	}
}

// bound reads a limit. Up to 2^53 a float64 holds every whole number, so that
// comparing as float64 decides rightly for int64 too.
func (f *field) bound(tag string) bound {
	s, given := f.Tag.Lookup(tag)
	if !given {
		return bound{}
	}
	v, err := strconv.ParseFloat(s, 64)
	f.check(f.form == whole || f.form == real, tag+" is for numbers")
	f.check(err == nil && math.Abs(v) <= 1<<53, tag+" is no number up to 2^53")
	f.check(f.form == real || v == math.Trunc(v), tag+" is no whole number")
	return bound{s, v}
}

// paths collects the values of all parameters that are paths, in the order of
// the table, at any depth.
func (s *shape) paths(v reflect.Value) []string {
	var all []string
	for i := range s.fields {
		f := &s.fields[i]
		value := reflect.Indirect(v.FieldByIndex(f.Index))
		switch {
		case f.path && f.form == list:
			for j := range value.Len() {
				all = append(all, value.Index(j).String())
			}
		case f.path:
			if value.IsValid() && value.String() != "" {
				all = append(all, value.String())
			}
		case f.form == record:
			all = append(all, f.shape.paths(value)...)
		case f.form == list && f.elem.form == record:
			for j := range value.Len() {
				all = append(all, f.elem.paths(value.Index(j))...)
			}
		}
	}
	return all
}

// quietNames adds the parameters, at any depth, whose values are not recorded.
func (s *shape) quietNames(names map[string]bool) {
	for i := range s.fields {
		f := &s.fields[i]
		if f.quiet {
			names[f.Name] = true
		}
		if f.form == list {
			f.elem.quietNames(names)
		} else {
			f.shape.quietNames(names)
		}
	}
}
