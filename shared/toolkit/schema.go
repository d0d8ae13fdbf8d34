package toolkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// object is a JSON object that keeps its order: a model reads a schema from the
// top, and encoding/json would sort it.
type object []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the entries in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(mustJSON(e.key))
		b.WriteByte(':')
		b.Write(mustJSON(e.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// mustJSON encodes what a schema is made of, which always can be.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a schema cannot be written: %v", err))
	}
	return raw
}

// inputSchema is what the decoder accepts, as JSON Schema 2020-12. It refuses
// unknown parameters as the decoder does.
func (s *shape) inputSchema() object {
	switch s.form {
	case list:
		return object{{"type", "array"}, {"items", s.elem.inputSchema()}}
	case record:
		properties, required := object{}, []string{}
		for i := range s.fields {
			f := &s.fields[i]
			properties = append(properties, entry{f.Name, f.inputSchema()})
			if !f.omit {
				required = append(required, f.Name)
			}
		}
		o := object{{"type", "object"}, {"properties", properties}}
		if len(required) > 0 {
			o = append(o, entry{"required", required})
		}
		return append(o, entry{"additionalProperties", false})
	case table:
		return object{{"type", "object"}, {"additionalProperties", object{{"type", "string"}}}}
	}
	return object{{"type", s.typeName()}}
}

// typeName is the shape in the words of documentation.
func (s *shape) typeName() string {
	if s.form == list {
		return s.elem.typeName() + "[]"
	}
	return [...]string{text: "string", flag: "boolean", whole: "integer", real: "number", record: "object", table: "object"}[s.form]
}

// inputSchema of a parameter is that of its shape with what its tags add.
func (f *field) inputSchema() object {
	o := f.shape.inputSchema()
	if len(f.enum) > 0 && f.form == list {
		o = object{{"type", "array"}, {"items", object{{"type", "string"}, {"enum", f.enum}}}}
	} else if len(f.enum) > 0 {
		o = append(o, entry{"enum", f.enum})
	}
	for _, e := range []struct {
		key  string
		skip bool
		v    any
	}{
		{"minimum", f.low.text == "", json.Number(f.low.text)},
		{"maximum", f.high.text == "", json.Number(f.high.text)},
		{"minItems", f.minItems == 0, f.minItems},
		{"maxItems", f.maxItems == 0, f.maxItems},
		{"description", f.doc == "", f.doc},
	} {
		if !e.skip {
			o = append(o, entry{e.key, e.v})
		}
	}
	if f.fallback.IsValid() {
		o = append(o, entry{"default", f.fallback.Interface()})
	}
	return o
}

// outputSchema admits a success or the error envelope: some clients hold the
// structured content of errors against the schema as well. Of what a success always
// has only the first value is required, which tells it from an error: the schema is
// paid for in every conversation.
func outputSchema(t reflect.Type) object {
	w := resultWriter{recursive: map[reflect.Type]bool{}, defs: map[reflect.Type]string{}}
	w.findRecursive(t)
	properties, required := w.fields(t)
	for _, p := range properties {
		if p.key == "error" {
			panic(fmt.Sprintf("%s has a value named error: \"error\" is kept for failures", t))
		}
	}
	properties = append(properties, entry{"error", object{{"type", "object"}}})
	o := object{
		{"type", "object"},
		{"properties", properties},
		{"anyOf", []object{{{"required", required[:min(1, len(required))]}}, {{"required", []string{"error"}}}}},
	}
	if len(w.written) > 0 {
		o = append(o, entry{"$defs", w.written})
	}
	return o
}

// resultWriter writes the schema of a result's type. Types that contain
// themselves become $defs, all others stand where they are used.
type resultWriter struct {
	recursive map[reflect.Type]bool
	defs      map[reflect.Type]string
	written   object
}

// findRecursive finds the structs in t, within others, that contain themselves.
func (w *resultWriter) findRecursive(t reflect.Type, within ...reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return
	}
	if slices.Contains(within, t) {
		w.recursive[t] = true
		return
	}
	for _, m := range members(t) {
		w.findRecursive(m.Type, append(within, t)...)
	}
}

// fields are the properties of a struct and those that are required. In a result that is
// left away, as well as that there is nothing else: it would only make the tool list longer.
func (w *resultWriter) fields(t reflect.Type) (object, []string) {
	properties, required := object{}, []string{}
	for _, m := range members(t) {
		omit := m.OmitEmpty || m.OmitZero
		if m.Type.Kind() == reflect.Pointer && !omit {
			panic(fmt.Sprintf("result %q is a pointer and would be null: add omitempty", m.Name))
		}
		o := w.value(m.Type)
		if doc := m.Tag.Get("doc"); doc != "" {
			o = append(o, entry{"description", doc})
		}
		properties = append(properties, entry{m.Name, o})
		if !omit {
			required = append(required, m.Name)
		}
	}
	return properties, required
}

func (w *resultWriter) value(t reflect.Type) object {
	if o, ok := special(t); ok {
		return o
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.value(t.Elem())
	case reflect.Slice, reflect.Array:
		return object{{"type", "array"}, {"items", w.value(t.Elem())}}
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("%s is no kind of result: its keys are no text", t))
		}
		return object{{"type", "object"}, {"additionalProperties", w.value(t.Elem())}}
	case reflect.Struct:
		name, known := w.defs[t]
		if known {
			return object{{"$ref", "#/$defs/" + name}}
		}
		if w.recursive[t] {
			name = fmt.Sprintf("%s%d", t.Name(), len(w.defs))
			w.defs[t] = name
		}
		properties, _ := w.fields(t) // may write others first
		o := object{{"type", "object"}, {"properties", properties}}
		if !w.recursive[t] {
			return o
		}
		w.written = append(w.written, entry{name, o})
		return object{{"$ref", "#/$defs/" + name}}
	}
	return scalar(t)
}

// special are the types that do not look in JSON as they look in Go.
func special(t reflect.Type) (object, bool) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}, true
	case t == reflect.TypeFor[[]byte]():
		return object{{"type", "string"}, {"contentEncoding", "base64"}}, true
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return object{}, true
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		panic(fmt.Sprintf("%s writes its own JSON, which no schema can say", t))
	}
	return nil, false
}

func scalar(t reflect.Type) object {
	switch k := t.Kind(); {
	case k == reflect.String:
		return object{{"type", "string"}}
	case k == reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int <= k && k <= reflect.Uint64:
		return object{{"type", "integer"}}
	case k == reflect.Float32 || k == reflect.Float64:
		return object{{"type", "number"}}
	}
	panic(fmt.Sprintf("%s is no kind of result", t))
}
