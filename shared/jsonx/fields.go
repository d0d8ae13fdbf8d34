package jsonx

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Field is a field of a struct as JSON has it: embedded structs are flattened, Index leads to
// it from the outermost struct.
type Field struct {
	Name                string
	OmitEmpty, OmitZero bool
	Index               []int
	Type                reflect.Type
	Tag                 reflect.StructTag
}

// Fields lists the fields of a struct in reading order. It is an error where encoding/json
// has rules of its own that nobody should need: fields without a name, two of one name, the
// option string, pointers that are embedded.
func Fields(t reflect.Type) ([]Field, error) {
	var all []Field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		words := strings.Split(options, ",")
		switch {
		case name == "-" && options == "":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct {
				return nil, fmt.Errorf("%s embeds %s; embed the struct itself", t, f.Type)
			}
			inner, err := Fields(f.Type)
			if err != nil {
				return nil, err
			}
			for _, one := range inner {
				one.Index = append(slices.Clone(f.Index), one.Index...)
				all = append(all, one)
			}
			continue
		case !f.IsExported():
			continue
		case name == "":
			return nil, fmt.Errorf("field %s of %s has no name in JSON", f.Name, t)
		case slices.Contains(words, "string"):
			return nil, fmt.Errorf("field %s of %s uses the option string, which no schema can say", f.Name, t)
		}
		all = append(all, Field{
			Name: name, OmitEmpty: slices.Contains(words, "omitempty"), OmitZero: slices.Contains(words, "omitzero"),
			Index: f.Index, Type: f.Type, Tag: f.Tag,
		})
	}
	for i, f := range all {
		if slices.ContainsFunc(all[:i], func(o Field) bool { return o.Name == f.Name }) {
			return nil, fmt.Errorf("%s has two fields named %q in JSON", t, f.Name)
		}
	}
	return all, nil
}
