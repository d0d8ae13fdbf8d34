package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// where is the way from the arguments to one value in them. It costs nothing
// until an error needs its words.
type where struct {
	outer *where
	name  string
	index int
	quiet bool // the value, and what is in it, is never repeated
}

func (w *where) String() string {
	if w.outer == nil {
		return w.name
	}
	step := w.name
	if step == "" {
		step = "[" + strconv.Itoa(w.index) + "]"
	}
	return dotted(w.outer.String(), step)
}

// read decodes the arguments of one call. Absent arguments and null are the
// empty object, as clients send either for a tool without parameters.
func (s *shape) read(raw json.RawMessage, into reflect.Value) *fault.Error {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		raw = json.RawMessage("{}")
	}
	n, err := parse(raw)
	if err != nil {
		return err
	}
	if n.kind != kindObject {
		return fault.New(fault.ParamMalformed, "the arguments are "+n.kind.said()+", not an object", "Send the parameters by name in one JSON object")
	}
	if path, found := n.twice(); found {
		return fault.New(fault.ParamMalformed, fmt.Sprintf("%s stands twice in the arguments", quote(path)), "Give every name once").With("duplicate", path)
	}
	return s.record(n, into, where{})
}

// record decodes an object: first it looks for names that are wrong or missing,
// so that a misspelt parameter is told as such and not as the missing one.
func (s *shape) record(n node, into reflect.Value, at where) *fault.Error {
	if err := s.unknown(n, at); err != nil {
		return err
	}
	if err := s.missing(n, at); err != nil {
		return err
	}
	s.defaults(into)
	for i := range s.fields {
		f := &s.fields[i]
		kid := n.find(f.name)
		if kid == nil {
			continue
		}
		target := into.FieldByIndex(f.index)
		if f.pointer {
			target.Set(reflect.New(f.typ))
			target = target.Elem()
		}
		if err := f.decode(*kid, target, where{outer: &at, name: f.name, quiet: at.quiet || f.quiet}); err != nil {
			return err
		}
	}
	return nil
}

// find is the member with that name; null is as good as absent.
func (n node) find(name string) *node {
	for i := range n.kids {
		if n.kids[i].name == name && n.kids[i].kind != kindNull {
			return &n.kids[i]
		}
	}
	return nil
}

// defaults fills in what the tags say for parameters that are not given.
func (s *shape) defaults(into reflect.Value) {
	for i := range s.fields {
		switch f := &s.fields[i]; {
		case f.fallback.IsValid():
			into.FieldByIndex(f.index).Set(f.fallback)
		case f.form == record:
			f.defaults(into.FieldByIndex(f.index))
		}
	}
}

func (s *shape) unknown(n node, at where) *fault.Error {
	known := s.names()
	for _, kid := range n.kids {
		if slices.Contains(known, kid.name) {
			continue
		}
		name := (&where{outer: &at, name: kid.name}).String()
		e := fault.New(fault.ParamInvalid, "there is no parameter "+quote(name), knownWords(known)).With("unknown", name).With("known", known)
		if meant := nearest(kid.name, known); meant != "" {
			e = e.With("did_you_mean", meant)
			e.Do = fmt.Sprintf("Did you mean %q? %s", meant, e.Do)
		}
		return e
	}
	return nil
}

func knownWords(known []string) string {
	if len(known) == 0 {
		return "Send no parameters"
	}
	return "The parameters are " + strings.Join(known, ", ")
}

func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i := range s.fields {
		names[i] = s.fields[i].name
	}
	return names
}

func (s *shape) missing(n node, at where) *fault.Error {
	var names []string
	for i := range s.fields {
		if f := &s.fields[i]; !f.omit && n.find(f.name) == nil {
			names = append(names, (&where{outer: &at, name: f.name}).String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	what := "the required parameter " + quote(names[0]) + " is missing"
	if len(names) > 1 {
		what = "the required parameters " + strings.Join(names, ", ") + " are missing"
	}
	return fault.New(fault.ParamMissing, what, "Call again with "+strings.Join(names, " and ")).With("missing", names)
}

// decode reads a parameter's value and holds it against the parameter's tags.
func (f *field) decode(n node, into reflect.Value, at where) *fault.Error {
	if at.name == "" {
		at.name = f.name
	}
	if err := f.shape.decode(n, into, at); err != nil {
		return f.rangeTold(err)
	}
	switch f.form {
	case whole:
		return f.within(float64(into.Int()), n, at)
	case real:
		return f.within(into.Float(), n, at)
	case text:
		return f.among(into.String(), at)
	case list:
		return f.items(into, at)
	}
	return nil
}

// decode reads a value of this shape.
func (s *shape) decode(n node, into reflect.Value, at where) *fault.Error {
	if n.kind != s.kind() {
		return s.wrongType(n, at)
	}
	switch s.form {
	case text:
		into.SetString(unquote(n.raw))
	case flag:
		into.SetBool(n.raw[0] == 't')
	case whole:
		return s.wholeNumber(n, into, at)
	case real:
		return s.realNumber(n, into, at)
	case list:
		return s.list(n, into, at)
	case record:
		return s.record(n, into, at)
	case table:
		return s.table(n, into, at)
	}
	return nil
}

// kind is what JSON must hold for this shape.
func (s *shape) kind() kind {
	return [...]kind{0, kindText, kindBool, kindNumber, kindNumber, kindList, kindObject, kindObject}[s.form]
}

// wholeNumber takes 3, and 3.0 or 3e0 as some clients write it, up to where a
// float64 still tells neighbours apart.
func (s *shape) wholeNumber(n node, into reflect.Value, at where) *fault.Error {
	v, err := strconv.ParseInt(string(n.raw), 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		f, _ := strconv.ParseFloat(string(n.raw), 64)
		if math.Abs(f) > 1<<53 {
			return tooLarge(n, at)
		}
		if f != math.Trunc(f) {
			return s.wrongType(n, at)
		}
		v, err = int64(f), nil
	}
	if err != nil || into.OverflowInt(v) {
		return tooLarge(n, at)
	}
	into.SetInt(v)
	return nil
}

func (s *shape) realNumber(n node, into reflect.Value, at where) *fault.Error {
	v, err := strconv.ParseFloat(string(n.raw), 64)
	if err != nil {
		return tooLarge(n, at)
	}
	into.SetFloat(v)
	return nil
}

func tooLarge(n node, at where) *fault.Error {
	return fault.New(fault.ParamInvalid, fmt.Sprintf("the parameter %s is %s, which is out of range", quote(at.String()), n.said(at.quiet)), "Send a number nearer to zero").With("parameter", at.String())
}

func (s *shape) list(n node, into reflect.Value, at where) *fault.Error {
	into.Set(reflect.MakeSlice(s.typ, len(n.kids), len(n.kids)))
	for i, kid := range n.kids {
		if err := s.elem.decode(kid, into.Index(i), where{outer: &at, index: i, quiet: at.quiet}); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) table(n node, into reflect.Value, at where) *fault.Error {
	m := reflect.MakeMapWithSize(s.typ, len(n.kids))
	for _, kid := range n.kids {
		if kid.kind != kindText {
			one := shape{form: text}
			return one.wrongType(kid, where{outer: &at, name: kid.name, quiet: at.quiet})
		}
		key := reflect.ValueOf(kid.name).Convert(s.typ.Key())
		m.SetMapIndex(key, reflect.ValueOf(unquote(kid.raw)).Convert(s.typ.Elem()))
	}
	into.Set(m)
	return nil
}
