package toolkit

import (
	"cmp"
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

// Results lists the outermost values that a success holds in structuredContent; what is in
// them is in the schema.
func (t Tool) Results() []Param {
	var all []Param
	for _, m := range members(t.result) {
		all = append(all, Param{Name: m.Name, Type: resultType(m.Type), Doc: m.Tag.Get("doc"), Required: !m.OmitEmpty && !m.OmitZero})
	}
	return all
}

func (s *shape) params(before string) []Param {
	var all []Param
	for i := range s.fields {
		f := &s.fields[i]
		all = append(all, Param{
			Name: before + f.Name, Type: f.typeName(), Doc: f.doc, Required: !f.omit,
			Default: f.fallbackText, Enum: f.enum, Min: f.low.text, Max: f.high.text,
		})
		switch {
		case f.form == record:
			all = append(all, f.shape.params(before+f.Name+".")...)
		case f.form == list:
			all = append(all, f.elem.params(before+f.Name+"[].")...)
		}
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
		required, fallback := "", ""
		if p.Required {
			required = "yes"
		}
		if p.Default != "" {
			fallback = "`" + p.Default + "`"
		}

		// The doc with what the other tags say, as sentences.
		doc := p.Doc
		words := ""
		if len(p.Enum) > 0 {
			words = "one of `" + strings.Join(p.Enum, "`, `") + "`"
		}
		for _, part := range []string{rangeWords(p.Min, p.Max), words} {
			if part != "" && doc != "" {
				part = strings.TrimSuffix(doc, ".") + "; " + part
			}
			doc = cmp.Or(part, doc)
		}

		cells := []string{"`" + p.Name + "`", p.Type, required, fallback, doc}
		for i, c := range cells {
			cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(c)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// Markdown is the tools of the vocabulary, a section each, a level below [Tool.Markdown].
func (v Vocabulary) Markdown() string {
	var b strings.Builder
	for _, tool := range v.Tools {
		b.WriteString("\n#" + tool.Markdown())
	}
	return b.String() + "\n"
}
