package toolkit

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multiollama/mcp-server/shared/quoted"
)

// emitter appends a value of one type as JSON: as encoding/json does without its
// escapes for HTML, except that a list or a map that is nil in Go is empty.
type emitter func(b []byte, v reflect.Value) ([]byte, error)

// emitters are those of the types beneath a result; a type that contains itself finds
// its own here.
type emitters map[reflect.Type]*emitter

// emitterOf compiles the emitter of a type, once for a tool.
func emitterOf(t reflect.Type) emitter { return emitters{}.of(t) }

func (all emitters) of(t reflect.Type) emitter {
	if known := all[t]; known != nil {
		return func(b []byte, v reflect.Value) ([]byte, error) { return (*known)(b, v) }
	}
	made := new(emitter)
	all[t] = made
	*made = all.make(t)
	return *made
}

func (all emitters) make(t reflect.Type) emitter {
	if writesItself(t) {
		return emitOther
	}
	switch t.Kind() {
	case reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return quoted.Append(b, v.String()), nil }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendUint(b, v.Uint(), 10), nil }
	case reflect.Pointer:
		return emitPointer(all.of(t.Elem()))
	case reflect.Struct:
		return all.record(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !writesItself(t.Elem()) {
			return emitBytes
		}
		return emitList(all.of(t.Elem()))
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !writesItself(t.Key()) {
			return emitTable(all.of(t.Elem()))
		}
	}
	return emitOther
}

// writesItself says that encoding/json asks a value of this type for its JSON.
func writesItself(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Time]() {
		return true
	}
	for _, as := range []reflect.Type{t, reflect.PointerTo(t)} {
		if as.Implements(reflect.TypeFor[json.Marshaler]()) || as.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return true
		}
	}
	return false
}

// emitOther is for what is rare: times, interfaces, numbers with a point.
func emitOther(b []byte, v reflect.Value) ([]byte, error) {
	raw, err := quoted.JSON(v.Interface())
	return append(b, raw...), err
}

func emitBytes(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, v.Bytes())
	return append(b, '"'), nil
}

func emitPointer(to emitter) emitter {
	return func(b []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return to(b, v.Elem())
	}
}

func emitList(each emitter) emitter {
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = each(b, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
}

func emitTable(each emitter) emitter {
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		values := map[string]reflect.Value{}
		for key, value := range v.Seq2() {
			values[key.String()] = value
		}
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(values)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quoted.Append(b, key), ':')
			if b, err = each(b, values[key]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

// part is a member of a record as it is written.
type part struct {
	name      string // quoted, with its colon
	index     []int
	omitEmpty bool
	omitZero  bool
	emit      emitter
}

func (all emitters) record(t reflect.Type) emitter {
	var parts []part
	for _, m := range members(t) {
		_, options, _ := strings.Cut(m.tag.Get("json"), ",")
		parts = append(parts, part{
			name: string(quoted.Append(nil, m.name)) + ":", index: m.index, emit: all.of(m.as),
			omitEmpty: strings.Contains(options, "omitempty"), omitZero: strings.Contains(options, "omitzero"),
		})
	}
	return func(b []byte, v reflect.Value) (_ []byte, err error) {
		b = append(b, '{')
		first := true
		for i := range parts {
			p := &parts[i]
			field := p.of(v)
			if p.omitEmpty && isEmpty(field) || p.omitZero && isZero(field) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, p.name...)
			if b, err = p.emit(b, field); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

func (p *part) of(v reflect.Value) reflect.Value {
	if len(p.index) == 1 {
		return v.Field(p.index[0])
	}
	return v.FieldByIndex(p.index)
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// isZero is what omitzero leaves out; a type may say that itself.
func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	return v.IsZero()
}
