package toolkit

import (
	"encoding/json"
	"reflect"
	"time"
)

// filled is a copy of the struct that out points to in which no list and no map
// is nil, except where omitempty or omitzero leaves it out. The original, which
// a tool may still hold, is not touched.
func filled(out any) any {
	return filler{}.value(reflect.ValueOf(out).Elem()).Interface()
}

// filler remembers the fields of the types it has seen.
type filler map[reflect.Type][]member

func (f filler) value(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Slice:
		return f.list(v)
	case reflect.Map:
		return f.table(v)
	case reflect.Struct:
		return f.record(v)
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(f.value(v.Elem()))
		return p
	}
	return v
}

func (f filler) list(v reflect.Value) reflect.Value {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		return v
	}
	all := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		all.Index(i).Set(f.value(v.Index(i)))
	}
	return all
}

func (f filler) table(v reflect.Value) reflect.Value {
	all := reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, value := range v.Seq2() {
		all.SetMapIndex(key, f.value(value))
	}
	return all
}

func (f filler) record(v reflect.Value) reflect.Value {
	t := v.Type()
	if t == reflect.TypeFor[time.Time]() {
		return v
	}
	if _, seen := f[t]; !seen {
		f[t] = members(t)
	}
	whole := reflect.New(t).Elem()
	whole.Set(v)
	for _, m := range f[t] {
		field := whole.FieldByIndex(m.index)
		if m.omit && field.IsZero() {
			continue
		}
		field.Set(f.value(field))
	}
	return whole
}
