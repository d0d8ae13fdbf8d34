package toolkit

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
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
	member
	shape
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

// planOf compiles a struct of parameters. It panics on a table that means
// nothing: every tag either holds or the server does not start.
func planOf(t reflect.Type) shape {
	return shapeOf(t, nil)
}

func shapeOf(t reflect.Type, within []reflect.Type) shape {
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
		elem := shapeOf(t.Elem(), within)
		s.form, s.elem = list, &elem
	case reflect.Struct:
		s.form, s.fields = record, fieldsOf(t, within)
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

func fieldsOf(t reflect.Type, within []reflect.Type) []field {
	for _, outer := range within {
		if outer == t {
			panic(fmt.Sprintf("%s contains itself; parameters are bounded", t))
		}
	}
	var fields []field
	for _, m := range members(t) {
		fields = append(fields, fieldOf(m, append(within, t)))
	}
	return fields
}

func fieldOf(m member, within []reflect.Type) field {
	f := field{member: m, doc: m.tag.Get("doc")}
	typ := m.as
	if typ.Kind() == reflect.Pointer {
		f.pointer, typ = true, typ.Elem()
	}
	f.shape = shapeOf(typ, within)
	f.check(!f.pointer || f.form <= real, "only scalars are given by pointer")
	f.check(!f.pointer || m.omit, "a pointer is optional: add omitempty")
	f.readBounds()
	f.readEnum()
	f.readItems()
	f.readMarks()
	f.readDefault()
	return f
}

// check panics with the field's name when a tag contradicts its type.
func (f *field) check(ok bool, why string) {
	if !ok {
		panic(fmt.Sprintf("parameter %q: %s", f.name, why))
	}
}

func (f *field) readBounds() {
	f.low, f.high = f.bound("min"), f.bound("max")
	f.check(f.low.text == "" || f.high.text == "" || f.low.value <= f.high.value, "min is above max")
}

// bound reads a limit. Up to 2^53 a float64 holds every whole number, so that
// comparing as float64 decides rightly for int64 too.
func (f *field) bound(tag string) bound {
	s, given := f.tag.Lookup(tag)
	if !given {
		return bound{}
	}
	v, err := strconv.ParseFloat(s, 64)
	f.check(f.form == whole || f.form == real, tag+" is for numbers")
	f.check(err == nil && math.Abs(v) <= 1<<53, tag+" is no number up to 2^53")
	f.check(f.form == real || v == math.Trunc(v), tag+" is no whole number")
	return bound{s, v}
}

func (f *field) readEnum() {
	s, given := f.tag.Lookup("enum")
	if !given {
		return
	}
	ofTexts := f.form == list && f.elem.form == text
	f.check(f.form == text || ofTexts, "enum is for text")
	f.enum = strings.Split(s, "|")
	for _, word := range f.enum {
		f.check(word != "", "enum has an empty word")
	}
}

func (f *field) readItems() {
	for tag, into := range map[string]*int{"minItems": &f.minItems, "maxItems": &f.maxItems} {
		s, given := f.tag.Lookup(tag)
		if !given {
			continue
		}
		n, err := strconv.Atoi(s)
		f.check(f.form == list, tag+" is for lists")
		f.check(err == nil && n > 0, tag+" is no positive number")
		*into = n
	}
	f.check(f.maxItems == 0 || f.minItems <= f.maxItems, "minItems is above maxItems")
}

func (f *field) readMarks() {
	if mode, given := f.tag.Lookup("path"); given {
		f.check(mode == "read" || mode == "write", `path is "read" or "write"`)
		f.check(f.form == text || f.form == list && f.elem.form == text, "path is for text")
		f.path = true
	}
	for _, tag := range []string{"secret", "content"} {
		if s, given := f.tag.Lookup(tag); given {
			f.check(s == "true", tag+` is "true"`)
			f.quiet = true
		}
	}
}

func (f *field) readDefault() {
	s, given := f.tag.Lookup("default")
	if !given {
		return
	}
	f.check(f.omit, "a default means optional: add omitempty")
	f.check(!f.pointer, "a pointer has no default: nil says that it was not given")
	f.check(f.form <= real, "only scalars have a default")
	raw := s
	if f.form == text {
		raw = string(mustJSON(s))
	}
	n, err := parse([]byte(raw))
	f.check(err == nil, "its default is not "+f.wanted())
	v := reflect.New(f.typ).Elem()
	if fault := f.decode(n, v, where{}); fault != nil {
		f.check(false, "its default is refused: "+fault.Msg)
	}
	f.fallback, f.fallbackText = v, s
}

// wanted is the shape in the words of an error message.
func (s *shape) wanted() string {
	switch s.form {
	case text:
		return "text"
	case flag:
		return "true or false"
	case whole:
		return "a whole number"
	case real:
		return "a number"
	case list:
		return "a list"
	}
	return "an object"
}

// typeName is the shape in the words of documentation.
func (s *shape) typeName() string {
	switch s.form {
	case text:
		return "string"
	case flag:
		return "boolean"
	case whole:
		return "integer"
	case real:
		return "number"
	case list:
		return s.elem.typeName() + "[]"
	}
	return "object"
}
