package toolkit

import (
	"reflect"
	"strings"
)

// Param describes one parameter, or one value of a result, for people. Nested
// ones follow the one they are in, named as in edits[].old_text.
type Param struct {
	Name     string
	Type     string // string, boolean, integer, number, object, or one of these with []
	Doc      string
	Required bool
	Default  string // "" for none
	Enum     []string
	Min, Max string // "" for none
}

// Params lists the tool's parameters in the order of the table.
func (t Tool) Params() []Param { return t.in.params("") }

// Results lists what a success holds in structuredContent.
func (t Tool) Results() []Param { return append([]Param(nil), t.results...) }

func (s *shape) params(before string) []Param {
	var all []Param
	for i := range s.fields {
		f := &s.fields[i]
		all = append(all, Param{
			Name: before + f.name, Type: f.typeName(), Doc: f.doc, Required: !f.omit,
			Default: f.fallbackText, Enum: f.enum, Min: f.low.text, Max: f.high.text,
		})
		switch {
		case f.form == record:
			all = append(all, f.shape.params(before+f.name+".")...)
		case f.form == list:
			all = append(all, f.elem.params(before+f.name+"[].")...)
		}
	}
	return all
}

// resultParams describes a result's outermost values; what lies deeper is in
// the schema.
func resultParams(t reflect.Type) []Param {
	var all []Param
	for _, m := range members(t) {
		all = append(all, Param{Name: m.name, Type: resultType(m.as), Doc: m.tag.Get("doc"), Required: !m.omit})
	}
	return all
}

func resultType(t reflect.Type) string {
	if o, ok := special(t); ok {
		if len(o) == 0 {
			return "any"
		}
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return resultType(t.Elem())
	case reflect.Slice, reflect.Array:
		return resultType(t.Elem()) + "[]"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return scalar(t)[0].value.(string)
}

// Markdown is the tool as a section of documentation: its name, what it does,
// and a table of its parameters.
func (t Tool) Markdown() string {
	var b strings.Builder
	b.WriteString("### `" + t.Name + "`\n\n" + t.Doc + "\n")
	params := t.Params()
	if len(params) == 0 {
		return b.String()
	}
	b.WriteString("\n| parameter | type | required | default | meaning |\n|---|---|---|---|---|\n")
	for _, p := range params {
		b.WriteString(p.row())
	}
	return b.String()
}

func (p Param) row() string {
	required, fallback := "", ""
	if p.Required {
		required = "yes"
	}
	if p.Default != "" {
		fallback = "`" + p.Default + "`"
	}
	cells := []string{"`" + p.Name + "`", p.Type, required, fallback, p.meaning()}
	for i, c := range cells {
		cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(c)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// meaning is the doc with what the other tags say, as sentences.
func (p Param) meaning() string {
	doc := p.Doc
	for _, part := range []string{p.span(), p.words()} {
		switch {
		case part == "":
		case doc == "":
			doc = part
		default:
			doc = strings.TrimSuffix(doc, ".") + "; " + part
		}
	}
	return doc
}

func (p Param) span() string {
	f := field{low: bound{text: p.Min}, high: bound{text: p.Max}}
	return f.rangeWords()
}

func (p Param) words() string {
	if len(p.Enum) == 0 {
		return ""
	}
	return "one of `" + strings.Join(p.Enum, "`, `") + "`"
}

// Markdown is the tools of the vocabulary, a section each, a level below [Tool.Markdown].
func (v Vocabulary) Markdown() string {
	var b strings.Builder
	for _, tool := range v.Tools {
		b.WriteString("\n#" + tool.Markdown())
	}
	return b.String() + "\n"
}
