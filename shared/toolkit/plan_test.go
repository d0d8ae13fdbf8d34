package toolkit

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// panics is what building panics with, "" where it does not.
func panics(build func()) (said string) {
	defer func() {
		if r := recover(); r != nil {
			said = fmt.Sprint(r)
		}
	}()
	build()
	return ""
}

func plan[In any]() func() { return func() { shapeOf(reflect.TypeFor[In]()) } }
func out[Out any]() func() { return func() { outputSchema(reflect.TypeFor[Out]()) } }

type (
	loop struct {
		Next []loop `json:"next,omitempty"`
	}
	twin struct {
		Path string `json:"path"`
	}
	speaks struct{}
)

func (speaks) MarshalJSON() ([]byte, error) { return []byte(`1`), nil }

func TestATableThatMeansNothingPanics(t *testing.T) {
	for _, c := range []struct {
		what  string
		build func()
		says  string
	}{
		{"no name in JSON", plan[struct{ Path string }](), "no name in JSON"},
		{"a name twice", plan[struct {
			twin
			Path string `json:"path"`
		}](), `two fields named "path"`},
		{"an embedded pointer", plan[struct{ *twin }](), "embed the struct itself"},
		{"a tag that nobody reads", plan[struct {
			A string `json:"a" enums:"x|y"`
		}](), `unknown tag "enums"`},
		{"a tag without quotation marks", func() {
			shapeOf(reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"a" doc:x`}}))
		}, `unknown tag "doc:x"`},
		{"the option string", plan[struct {
			A int `json:"a,string"`
		}](), "option string"},
		{"an unsigned number", plan[struct {
			A uint `json:"a"`
		}](), "uint is no kind of parameter"},
		{"anything", plan[struct {
			A any `json:"a"`
		}](), "no kind of parameter"},
		{"a map of numbers", plan[struct {
			A map[string]int `json:"a"`
		}](), "only map[string]string"},
		{"a struct within itself", plan[loop](), "contains itself"},
		{"a pointer to a struct", plan[struct {
			A *twin `json:"a,omitempty"`
		}](), "only scalars are given by pointer"},
		{"a pointer that is required", plan[struct {
			A *int `json:"a"`
		}](), "a pointer is optional"},
		{"min of text", plan[struct {
			A string `json:"a" min:"1"`
		}](), "min is for numbers"},
		{"min that is no number", plan[struct {
			A int `json:"a" min:"one"`
		}](), "min is no number"},
		{"min beyond what a float64 tells apart", plan[struct {
			A int `json:"a" min:"9007199254740993000"`
		}](), "min is no number up to 2^53"},
		{"half a max of a whole number", plan[struct {
			A int `json:"a" max:"1.5"`
		}](), "max is no whole number"},
		{"min above max", plan[struct {
			A int `json:"a" min:"2" max:"1"`
		}](), "min is above max"},
		{"a choice of numbers", plan[struct {
			A int `json:"a" enum:"1|2"`
		}](), "enum is for text"},
		{"an empty word in a choice", plan[struct {
			A string `json:"a" enum:"a||b"`
		}](), "empty word"},
		{"minItems of text", plan[struct {
			A string `json:"a" minItems:"1"`
		}](), "minItems is for lists"},
		{"minItems of none", plan[struct {
			A []string `json:"a" minItems:"0"`
		}](), "minItems is no positive number"},
		{"minItems above maxItems", plan[struct {
			A []string `json:"a" minItems:"3" maxItems:"2"`
		}](), "minItems is above maxItems"},
		{"a path that is a number", plan[struct {
			A int `json:"a" path:"read"`
		}](), "path is for text"},
		{"a path to run", plan[struct {
			A string `json:"a" path:"run"`
		}](), `path is "read" or "write"`},
		{"half a secret", plan[struct {
			A string `json:"a" secret:"yes"`
		}](), `secret is "true"`},
		{"a default of what is required", plan[struct {
			A int `json:"a" default:"1"`
		}](), "a default means optional"},
		{"a default of a pointer", plan[struct {
			A *int `json:"a,omitempty" default:"1"`
		}](), "a pointer has no default"},
		{"a default of a list", plan[struct {
			A []string `json:"a,omitempty" default:"x"`
		}](), "only scalars have a default"},
		{"a default of another kind", plan[struct {
			A int `json:"a,omitempty" default:"many"`
		}](), "its default is not a whole number"},
		{"a default out of range", plan[struct {
			A int `json:"a,omitempty" default:"0" min:"1"`
		}](), "its default is refused"},
		{"a default that is no choice", plan[struct {
			A string `json:"a,omitempty" default:"z" enum:"a|b"`
		}](), "its default is refused"},

		{"a result that would be null", out[struct {
			A *int `json:"a"`
		}](), "would be null"},
		{"a result with its own JSON", out[struct {
			A speaks `json:"a"`
		}](), "writes its own JSON"},
		{"a result that is a channel", out[struct {
			A chan int `json:"a"`
		}](), "chan int is no kind of result"},
		{"a result with numbers for keys", out[struct {
			A map[int]string `json:"a"`
		}](), "its keys are no text"},
		{"a result that looks like a failure", out[struct {
			A string `json:"error"`
		}](), `"error" is kept for failures`},
	} {
		if said := panics(c.build); !strings.Contains(said, c.says) {
			t.Errorf("%s: panics with %q, want %q", c.what, said, c.says)
		}
	}
}

func TestAToolThatNobodyCouldUsePanics(t *testing.T) {
	type empty struct{}
	good := Spec{Name: "x", Doc: "Do x.", Effect: Reads}
	made := func(change func(*Spec)) func() {
		s := good
		change(&s)
		return func() { New(s, func(context.Context, empty) (empty, error) { return empty{}, nil }) }
	}
	if said := panics(made(func(*Spec) {})); said != "" {
		t.Fatalf("a good tool panics with %s", said)
	}
	for _, c := range []struct {
		what  string
		build func()
		says  string
	}{
		{"no effect", made(func(s *Spec) { s.Effect = 0 }), "no Effect"},
		{"an effect that is none", made(func(s *Spec) { s.Effect = 4 }), "no Effect"},
		{"no name", made(func(s *Spec) { s.Name = "" }), "a name has"},
		{"a space in the name", made(func(s *Spec) { s.Name = "a b" }), "a name has"},
		{"a long name", made(func(s *Spec) { s.Name = strings.Repeat("a", 65) }), "a name has"},
		{"no doc", made(func(s *Spec) { s.Doc = "" }), "no Doc"},
		{"a read that destroys", made(func(s *Spec) { s.Destructive = true }), "not destructive"},
		{"parameters that are no struct", func() {
			New(good, func(context.Context, string) (empty, error) { return empty{}, nil })
		}, "parameters are no struct"},
		{"a result that is no struct", func() {
			New(good, func(context.Context, empty) ([]string, error) { return nil, nil })
		}, "result is no struct"},
	} {
		if said := panics(c.build); !strings.Contains(said, c.says) {
			t.Errorf("%s: panics with %q, want %q", c.what, said, c.says)
		}
	}
}
