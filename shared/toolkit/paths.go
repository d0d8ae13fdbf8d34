package toolkit

import "reflect"

// paths collects the values of all parameters that are paths, in the order of
// the table, at any depth.
func (s *shape) paths(v reflect.Value) []string {
	var all []string
	for i := range s.fields {
		f := &s.fields[i]
		value := v.FieldByIndex(f.index)
		switch {
		case f.path:
			all = append(all, texts(value)...)
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

// texts are the strings that were given in a text, a pointer to one, or a list.
func texts(v reflect.Value) []string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return texts(v.Elem())
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, v.Index(i).String())
		}
		return all
	}
	if v.String() == "" {
		return nil
	}
	return []string{v.String()}
}

// quietNames are the parameters, at any depth, whose values are not recorded.
func (s *shape) quietNames() map[string]bool {
	names := map[string]bool{}
	for i := range s.fields {
		f := &s.fields[i]
		if f.quiet {
			names[f.name] = true
		}
		inner := &f.shape
		if f.form == list {
			inner = f.elem
		}
		for name := range inner.quietNames() {
			names[name] = true
		}
	}
	return names
}
