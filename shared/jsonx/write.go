package jsonx

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Verbatim is JSON on one line that is written as it is, without another look.
type Verbatim []byte

// Marshal is v as encoding/json has it, on one line, but with <, > and & as they are: this is
// no HTML, and people and models read it.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Append appends what Marshal makes of v, except that a list or a map that is nil is empty.
// It is some times faster, and a result of a megabyte is copied once.
func Append(b []byte, v any) ([]byte, error) { return new(Writer).Append(b, v) }

// Writer appends values. A long text that comes twice, in one value or in two, is escaped once:
// what a tool read is a text for the model and a member of the structure as well.
type Writer struct {
	text   string // the last long text
	quoted []byte // the same as it was written
}

// longText is the length in bytes from which it pays to look whether a text is the last one.
const longText = 1 << 10

// Append is like the function Append. What it appended to may not change while w is used.
func (w *Writer) Append(b []byte, v any) ([]byte, error) {
	if v == nil {
		return append(b, "null"...), nil
	}
	return appenderOf(reflect.TypeOf(v))(w, b, reflect.ValueOf(v))
}

func (w *Writer) appendText(b []byte, s string) []byte {
	if len(s) < longText {
		return AppendText(b, s)
	}
	if s == w.text { // at once, where it is the same memory
		return append(b, w.quoted...)
	}
	start := len(b)
	b = AppendText(b, s)
	w.text, w.quoted = s, b[start:]
	return b
}

// Structured is structured content that is JSON already, and what wrote it: it has escaped
// the texts that are content as well.
type Structured struct {
	json.RawMessage
	Writer
}

const hex = "0123456789abcdef"

// AppendText appends s as a string: with quotation marks and escapes. Every byte that is part
// of no character becomes U+FFFD.
func AppendText(b []byte, s string) []byte {
	valid := utf8.ValidString(s)
	b = append(slices.Grow(b, len(s)+len(s)/8+2), '"')
	for {
		run := unescaped(s, valid)
		b = append(b, s[:run]...)
		if s = s[run:]; s == "" {
			return append(b, '"')
		}
		c := s[0]
		switch letter := letters[c]; {
		case letter != 0:
			b = append(b, '\\', letter)
		case c < utf8.RuneSelf:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		default: // U+2028 or U+2029, which JavaScript takes for line ends; E2 of another; or no character
			r, size := utf8.DecodeRuneInString(s)
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(b, `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				b = append(b, '\\', 'u', '2', '0', '2', hex[r&0xf])
			default:
				b = append(b, s[:size]...)
			}
			s = s[size-1:]
		}
		s = s[1:]
	}
}

// letters are the escapes of a letter.
var letters = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\t': 't', '\r': 'r', '\b': 'b', '\f': 'f'}

// unescaped is how many bytes at the start of s are written as they are, at least: up to an
// escape or E2, with which U+2028 and U+2029 begin, or to anything that is not ASCII where
// not all of the text is UTF-8. It looks at eight bytes at a time, as literalRun does.
func unescaped(s string, valid bool) int {
	high := uint64(0)
	if !valid {
		high = marks
	}
	at := 0
	for ; at+8 <= len(s); at += 8 {
		b := s[at : at+8] // the compiler makes one load of this
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		e2 := x ^ ones*0xe2
		if found := stops(x) | (e2-ones)&^e2&marks | x&high; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(s) && s[at] >= 0x20 && s[at] != '"' && s[at] != '\\' && s[at] != 0xe2 && (valid || s[at] < utf8.RuneSelf) {
		at++
	}
	return at
}

// appender appends a value of one type.
type appender func(w *Writer, b []byte, v reflect.Value) ([]byte, error)

// made are the appenders by type.
var made sync.Map

func appenderOf(t reflect.Type) appender {
	if known, ok := made.Load(t); ok {
		return known.(appender)
	}
	a := appenders{}.of(t)
	made.Store(t, a)
	return a
}

// appenders are those of the types in one type; a type that contains itself finds its own here.
type appenders map[reflect.Type]*appender

func (all appenders) of(t reflect.Type) appender {
	if known := all[t]; known != nil {
		return func(w *Writer, b []byte, v reflect.Value) ([]byte, error) { return (*known)(w, b, v) }
	}
	a := new(appender)
	all[t] = a
	*a = all.make(t)
	return *a
}

func (all appenders) make(t reflect.Type) appender {
	switch {
	case t == reflect.TypeFor[Verbatim]():
		return func(_ *Writer, b []byte, v reflect.Value) ([]byte, error) { return append(b, v.Bytes()...), nil }
	case t.Kind() != reflect.Interface && t.Implements(reflect.TypeFor[json.Marshaler]()):
		return appendMarshaler
	case t.Kind() != reflect.Interface && writesItself(t):
		return appendOther
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(all.of(t.Elem()))
	case reflect.Interface:
		return orNull(func(w *Writer, b []byte, v reflect.Value) ([]byte, error) { return appenderOf(v.Type())(w, b, v) })
	case reflect.Struct:
		if fields, err := Fields(t); err == nil {
			return all.record(fields)
		}
	case reflect.Slice:
		switch {
		case t.Elem().Kind() != reflect.Uint8:
			return list(all.of(t.Elem()))
		case !writesItself(t.Elem()):
			return func(_ *Writer, b []byte, v reflect.Value) ([]byte, error) {
				return append(base64.StdEncoding.AppendEncode(append(b, '"'), v.Bytes()), '"'), nil
			}
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !writesItself(t.Key()) {
			return table(all.of(t.Elem()))
		}
	}
	if scalar := scalars[t.Kind()]; scalar != nil {
		return scalar
	}
	return appendOther
}

// scalars are the appenders of kinds that have no parts.
var scalars = map[reflect.Kind]appender{
	reflect.String: func(w *Writer, b []byte, v reflect.Value) ([]byte, error) { return w.appendText(b, v.String()), nil },
	reflect.Bool: func(_ *Writer, b []byte, v reflect.Value) ([]byte, error) {
		return strconv.AppendBool(b, v.Bool()), nil
	},
	reflect.Int: appendInt, reflect.Int8: appendInt, reflect.Int16: appendInt, reflect.Int32: appendInt, reflect.Int64: appendInt,
	reflect.Uint: appendUint, reflect.Uint8: appendUint, reflect.Uint16: appendUint, reflect.Uint32: appendUint,
	reflect.Uint64: appendUint,
	reflect.Float64: func(w *Writer, b []byte, v reflect.Value) ([]byte, error) {
		if f := math.Abs(v.Float()); f == 0 || 1e-6 <= f && f < 1e21 { // others have an exponent
			return strconv.AppendFloat(b, v.Float(), 'f', -1, 64), nil
		}
		return appendOther(w, b, v)
	},
}

func appendInt(_ *Writer, b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(b, v.Int(), 10), nil
}

func appendUint(_ *Writer, b []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendUint(b, v.Uint(), 10), nil
}

// appendMarshaler appends what a value makes of itself, without space between its values.
func appendMarshaler(_ *Writer, b []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return append(b, "null"...), nil
	}
	raw, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return b, err
	}
	if s := Scan(raw); s.Value() && s.End() && !s.spaced {
		return append(b, raw...), nil
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, raw)
	return append(b, compact.Bytes()...), err
}

// writesItself says that encoding/json asks a value of this type for its JSON.
func writesItself(t reflect.Type) bool {
	for _, as := range []reflect.Type{t, reflect.PointerTo(t)} {
		if as.Implements(reflect.TypeFor[json.Marshaler]()) || as.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return true
		}
	}
	return false
}

// appendOther is for what is rare.
func appendOther(_ *Writer, b []byte, v reflect.Value) ([]byte, error) {
	raw, err := Marshal(v.Interface())
	return append(b, raw...), err
}

// orNull is for pointers and interfaces.
func orNull(to appender) appender {
	return func(w *Writer, b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return to(w, b, v.Elem())
	}
}

func list(each appender) appender {
	return func(w *Writer, b []byte, v reflect.Value) (_ []byte, err error) {
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = each(w, b, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
}

func table(each appender) appender {
	return func(w *Writer, b []byte, v reflect.Value) (_ []byte, err error) {
		values := map[string]reflect.Value{}
		for key, value := range v.Seq2() {
			values[key.String()] = value
		}
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(values)) {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = each(w, append(AppendText(b, key), ':'), values[key]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

func (all appenders) record(fields []Field) appender {
	type part struct {
		Field
		name string // as a string, with its colon
		to   appender
	}
	parts := make([]part, len(fields))
	for i, f := range fields {
		parts[i] = part{f, string(AppendText(nil, f.Name)) + ":", all.of(f.Type)}
	}
	return func(w *Writer, b []byte, v reflect.Value) (_ []byte, err error) {
		b = append(b, '{')
		first := true
		for i := range parts {
			p := &parts[i]
			field := v.FieldByIndex(p.Index)
			if p.omitted(field) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			if b, err = p.to(w, append(b, p.name...), field); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

// omitted reports whether the tag leaves a value out. With omitzero a type may say itself what
// is zero.
func (f *Field) omitted(v reflect.Value) bool {
	if f.OmitZero {
		if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
			if z.IsZero() {
				return true
			}
		} else if v.IsZero() {
			return true
		}
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return f.OmitEmpty && v.Len() == 0
	case reflect.Struct:
		return false
	}
	return f.OmitEmpty && v.IsZero()
}
