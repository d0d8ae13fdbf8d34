package toolkit

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
)

// decoded reads arguments into a fresh In.
func decoded[In any](raw string) (In, *fault.Error) {
	var in In
	args, err := readArguments([]byte(raw))
	if err == nil {
		plan := shapeOf(reflect.TypeFor[In]())
		err = plan.record(args, reflect.ValueOf(&in).Elem(), where{})
	}
	return in, fault.From(err)
}

type order string

type place struct {
	Dir  string `json:"dir,omitempty" doc:"where to look" path:"read"`
	Deep bool   `json:"deep,omitempty"`
}

type edit struct {
	Old   string `json:"old" content:"true"`
	New   string `json:"new" content:"true"`
	Count int    `json:"count,omitempty" min:"1" default:"1"`
}

// everything has every kind and every tag.
type everything struct {
	place
	Path   string            `json:"path" doc:"the file" path:"read"`
	Also   []string          `json:"also,omitzero" path:"read" maxItems:"3"`
	Sort   order             `json:"sort,omitempty" enum:"name|size" default:"name"`
	Fields []string          `json:"fields,omitzero" enum:"a|b" minItems:"1"`
	Limit  int               `json:"limit,omitempty" min:"1" max:"1000" default:"50"`
	Offset int64             `json:"offset,omitempty"`
	Ratio  float64           `json:"ratio,omitempty" min:"0" max:"0.5"`
	All    bool              `json:"all,omitempty" default:"true"`
	Depth  *int              `json:"depth,omitempty" max:"8"`
	Mode   *string           `json:"mode,omitempty" enum:"fast|slow"`
	Force  *bool             `json:"force,omitempty"`
	Scale  *float64          `json:"scale,omitempty"`
	Edits  []edit            `json:"edits,omitzero" maxItems:"2"`
	Window window            `json:"window,omitzero"`
	Env    map[string]string `json:"env,omitzero" secret:"true"`
	Token  string            `json:"token,omitempty" secret:"true"`
}

type window struct {
	From int `json:"from,omitempty" default:"1"`
	To   int `json:"to,omitempty"`
}

// given is what everything is when only path is given.
func given(change func(*everything)) everything {
	e := everything{Path: "p", Sort: "name", Limit: 50, All: true, Window: window{From: 1}}
	if change != nil {
		change(&e)
	}
	return e
}

func TestArgumentsBecomeParameters(t *testing.T) {
	for _, c := range []struct {
		what, in string
		want     func(*everything)
	}{
		{"only what is required", `{"path":"p"}`, nil},
		{"null is as good as absent", `{"path":"p","limit":null,"depth":null,"edits":null,"env":null,"window":null,"all":null}`, nil},
		{"an embedded struct is flat", `{"path":"p","dir":"d","deep":true}`, func(e *everything) { e.Dir, e.Deep = "d", true }},
		{"a list of texts", `{"path":"p","also":["a","b"]}`, func(e *everything) { e.Also = []string{"a", "b"} }},
		{"an empty list is not nil", `{"path":"p","also":[]}`, func(e *everything) { e.Also = []string{} }},
		{"a text of a type of its own", `{"path":"p","sort":"size"}`, func(e *everything) { e.Sort = "size" }},
		{"words of a list", `{"path":"p","fields":["a","b"]}`, func(e *everything) { e.Fields = []string{"a", "b"} }},
		{"the lowest", `{"path":"p","limit":1}`, func(e *everything) { e.Limit = 1 }},
		{"the highest", `{"path":"p","limit":1000}`, func(e *everything) { e.Limit = 1000 }},
		{"a whole number with a point", `{"path":"p","limit":3.0}`, func(e *everything) { e.Limit = 3 }},
		{"a whole number with an exponent", `{"path":"p","limit":1e2}`, func(e *everything) { e.Limit = 100 }},
		{"the smallest int64", `{"path":"p","offset":-9223372036854775808}`, func(e *everything) { e.Offset = math.MinInt64 }},
		{"a whole number that no float64 holds", `{"path":"p","offset":9007199254740993}`, func(e *everything) { e.Offset = 9007199254740993 }},
		{"a whole number for a real one", `{"path":"p","ratio":0}`, nil},
		{"a real number", `{"path":"p","ratio":0.25}`, func(e *everything) { e.Ratio = 0.25 }},
		{"a default overruled by false", `{"path":"p","all":false}`, func(e *everything) { e.All = false }},
		{"a pointer to zero was given", `{"path":"p","depth":0}`, func(e *everything) { e.Depth = new(int) }},
		{"a pointer to an empty choice", `{"path":"p","mode":"slow"}`, func(e *everything) { e.Mode = new("slow") }},
		{"a pointer to false", `{"path":"p","force":false}`, func(e *everything) { e.Force = new(bool) }},
		{"a pointer to a number", `{"path":"p","scale":1.5}`, func(e *everything) { e.Scale = new(1.5) }},
		{"structs in a list, with a default inside", `{"path":"p","edits":[{"old":"a","new":""},{"old":"b","new":"c","count":2}]}`,
			func(e *everything) { e.Edits = []edit{{"a", "", 1}, {"b", "c", 2}} }},
		{"a struct, with a default inside", `{"path":"p","window":{"to":9}}`, func(e *everything) { e.Window = window{1, 9} }},
		{"a table", `{"path":"p","env":{"A":"1","":"x"}}`, func(e *everything) { e.Env = map[string]string{"A": "1", "": "x"} }},
		{"names in any order, space between", " { \"limit\" : 2 ,\n\"path\":\"p\" } ", func(e *everything) { e.Limit = 2 }},
		{"a name by an escape", `{"\u0070ath":"p"}`, nil},
		{"text is not trimmed", `{"path":"p","token":" \n"}`, func(e *everything) { e.Token = " \n" }},
	} {
		got, err := decoded[everything](c.in)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if diff := cmp.Diff(given(c.want), got, cmp.AllowUnexported(everything{})); diff != "" {
			t.Errorf("%s:\n%s", c.what, diff)
		}
	}
}

func TestArgumentsAreRefusedWithACodeAndASentence(t *testing.T) {
	for _, c := range []struct {
		what, in string
		code     fault.Code
		sentence string
	}{
		{"no JSON", `{"path":`, fault.ParamMalformed, `the arguments are not well-formed JSON (byte 8). Send the arguments as one JSON object.`},
		{"NaN", `{"path":NaN}`, fault.ParamMalformed, `the arguments are not well-formed JSON (byte 8). Send the arguments as one JSON object.`},
		{"something after the end", `{"path":"p"} {}`, fault.ParamMalformed, `there is something after the end of the arguments (byte 13). Send the arguments as one JSON object.`},
		{"text that is not UTF-8", "{\"path\":\"a\xff\"}", fault.ParamMalformed, `the arguments hold text that is not UTF-8 (byte 8). Send the arguments as one JSON object.`},
		{"half a surrogate pair", `{"path":"\ud800"}`, fault.ParamMalformed, `the arguments hold an escape that JSON does not know, or half a surrogate pair (byte 9). Send the arguments as one JSON object.`},
		{"nested too deep", `{"path":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, fault.ParamMalformed, `the arguments are nested deeper than 64 levels (byte 72). Send the arguments as one JSON object.`},
		{"a list for the object", `["p"]`, fault.ParamMalformed, `the arguments are a list, not an object. Send the parameters by name in one JSON object.`},
		{"a text for the object", `"{}"`, fault.ParamMalformed, `the arguments are text, not an object. Send the parameters by name in one JSON object.`},
		{"a name twice", `{"path":"a","path":"b"}`, fault.ParamMalformed, `"path" stands twice in the arguments. Give every name once.`},
		{"a name twice in a list", `{"path":"a","edits":[{"old":"a","old":"b","new":""}]}`, fault.ParamMalformed, `"edits[0].old" stands twice in the arguments. Give every name once.`},
		{"a name twice in a table", `{"path":"a","env":{"A":"1","A":"2"}}`, fault.ParamMalformed, `"env.A" stands twice in the arguments. Give every name once.`},

		{"nothing given", ``, fault.ParamMissing, `the required parameter "path" is missing. Call again with path.`},
		{"null given", `null`, fault.ParamMissing, `the required parameter "path" is missing. Call again with path.`},
		{"null for the required", `{"path":null}`, fault.ParamMissing, `the required parameter "path" is missing. Call again with path.`},
		{"two missing in a list", `{"path":"p","edits":[{"old":"a","new":"b"},{}]}`, fault.ParamMissing, `the required parameters edits[1].old, edits[1].new are missing. Call again with edits[1].old and edits[1].new.`},

		{"text for a whole number", `{"path":"p","limit":"10"}`, fault.ParamMalformed, `the parameter "limit" must be a whole number, not the text "10". Send 10 without quotation marks.`},
		{"words for a whole number", `{"path":"p","limit":"ten"}`, fault.ParamMalformed, `the parameter "limit" must be a whole number, not the text "ten". Send a whole number.`},
		{"half a whole number", `{"path":"p","limit":1.5}`, fault.ParamMalformed, `the parameter "limit" must be a whole number, not the number 1.5. Send a whole number.`},
		{"text for a boolean", `{"path":"p","all":"false"}`, fault.ParamMalformed, `the parameter "all" must be true or false, not the text "false". Send false without quotation marks.`},
		{"a number for a boolean", `{"path":"p","all":1}`, fault.ParamMalformed, `the parameter "all" must be true or false, not the number 1. Send true or false.`},
		{"a number for text", `{"path":7}`, fault.ParamMalformed, `the parameter "path" must be text, not the number 7. Put it in quotation marks.`},
		{"a boolean for text", `{"path":true}`, fault.ParamMalformed, `the parameter "path" must be text, not true. Put it in quotation marks.`},
		{"an object for text", `{"path":{}}`, fault.ParamMalformed, `the parameter "path" must be text, not an object. Send text.`},
		{"text for a list", `{"path":"p","also":"a"}`, fault.ParamMalformed, `the parameter "also" must be a list, not the text "a". Send a list in brackets, even for one value.`},
		{"null in a list", `{"path":"p","also":["a",null]}`, fault.ParamMalformed, `the parameter "also[1]" must be text, not null. Send text.`},
		{"a list for an object", `{"path":"p","window":[1,2]}`, fault.ParamMalformed, `the parameter "window" must be an object, not a list. Send an object.`},
		{"text for a real number", `{"path":"p","ratio":"0.1"}`, fault.ParamMalformed, `the parameter "ratio" must be a number, not the text "0.1". Send 0.1 without quotation marks.`},
		{"a number in a table", `{"path":"p","env":{"A":1}}`, fault.ParamMalformed, `the parameter "env.A" must be text, not a number. Put it in quotation marks.`},
		{"deep in a list", `{"path":"p","edits":[{"old":"a","new":"b","count":"2"}]}`, fault.ParamMalformed, `the parameter "edits[0].count" must be a whole number, not the text "2". Send 2 without quotation marks.`},

		{"below the lowest", `{"path":"p","limit":0}`, fault.ParamInvalid, `the parameter "limit" is the number 0, but must be between 1 and 1000. Send a number that is between 1 and 1000.`},
		{"above the highest", `{"path":"p","limit":1001}`, fault.ParamInvalid, `the parameter "limit" is the number 1001, but must be between 1 and 1000. Send a number that is between 1 and 1000.`},
		{"far above an int64", `{"path":"p","limit":1e400}`, fault.ParamInvalid, `the parameter "limit" is the number 1e400, but must be between 1 and 1000. Send a number that is between 1 and 1000.`},
		{"above an int64 without a range", `{"path":"p","offset":9223372036854775808}`, fault.ParamInvalid, `the parameter "offset" is the number 9223372036854775808, which is out of range. Send a number nearer to zero.`},
		{"a float64 that would be rounded", `{"path":"p","offset":9007199254740994.0}`, fault.ParamInvalid, `the parameter "offset" is the number 9007199254740994.0, which is out of range. Send a number nearer to zero.`},
		{"above a float64", `{"path":"p","scale":1e400}`, fault.ParamInvalid, `the parameter "scale" is the number 1e400, which is out of range. Send a number nearer to zero.`},
		{"below min of one", `{"path":"p","edits":[{"old":"a","new":"b","count":0}]}`, fault.ParamInvalid, `the parameter "edits[0].count" is the number 0, but must be at least 1. Send a number that is at least 1.`},
		{"above the max of a pointer", `{"path":"p","depth":9}`, fault.ParamInvalid, `the parameter "depth" is the number 9, but must be at most 8. Send a number that is at most 8.`},
		{"a real number above", `{"path":"p","ratio":0.51}`, fault.ParamInvalid, `the parameter "ratio" is the number 0.51, but must be between 0 and 0.5. Send a number that is between 0 and 0.5.`},
		{"no word of the choice", `{"path":"p","sort":"sise"}`, fault.ParamInvalid, `the parameter "sort" is "sise", but must be one of name, size. Choose one of name, size.`},
		{"the empty word", `{"path":"p","sort":""}`, fault.ParamInvalid, `the parameter "sort" is "", but must be one of name, size. Choose one of name, size.`},
		{"no word of a pointer's choice", `{"path":"p","mode":"medium"}`, fault.ParamInvalid, `the parameter "mode" is "medium", but must be one of fast, slow. Choose one of fast, slow.`},
		{"no word of a list's choice", `{"path":"p","fields":["a","c"]}`, fault.ParamInvalid, `the parameter "fields[1]" is "c", but must be one of a, b. Choose one of a, b.`},
		{"a list too short", `{"path":"p","fields":[]}`, fault.ParamInvalid, `the list "fields" has 0 values, but must have at least 1. Send at least 1.`},
		{"a list too long", `{"path":"p","also":["a","b","c","d"]}`, fault.ParamInvalid, `the list "also" has 4 values, but must have at most 3. Send at most 3.`},

		{"a name misspelt", `{"pth":"p"}`, fault.ParamInvalid, `there is no parameter "pth". Did you mean "path"? ` + allNames},
		{"a name in other words", `{"path":"p","maxLimit":1}`, fault.ParamInvalid, `there is no parameter "maxLimit". Did you mean "limit"? ` + allNames},
		{"a name in other case", `{"Path":"p"}`, fault.ParamInvalid, `there is no parameter "Path". Did you mean "path"? ` + allNames},
		{"a name like no other", `{"path":"p","xyzzyplugh":1}`, fault.ParamInvalid, `there is no parameter "xyzzyplugh". ` + allNames},
		{"a name in Go's words", `{"path":"p","place":{}}`, fault.ParamInvalid, `there is no parameter "place". ` + allNames},
		{"a name misspelt in a list", `{"path":"p","edits":[{"old":"a","nwe":"b"}]}`, fault.ParamInvalid, `there is no parameter "edits[0].nwe". Did you mean "new"? The parameters are old, new, count.`},
		{"a name that forges a line", "{\"path\":\"p\",\"a\\nPARAM_001: \\u202eb\":1}", fault.ParamInvalid, `there is no parameter "a\nPARAM_001: \u202eb". ` + allNames},
	} {
		_, err := decoded[everything](c.in)
		if err == nil {
			t.Errorf("%s: accepted", c.what)
			continue
		}
		if err.Code != c.code || err.Sentence() != c.sentence {
			t.Errorf("%s:\n got %v\nwant %s: %s", c.what, err, c.code, c.sentence)
		}
	}
}

const allNames = "The parameters are dir, deep, path, also, sort, fields, limit, offset, ratio, all, depth, mode, force, scale, edits, window, env, token."

func TestRefusalsTellProgramsToo(t *testing.T) {
	for _, c := range []struct {
		what, in string
		details  map[string]any
	}{
		{"a misspelt name", `{"path":"p","edits":[{"old":"","new":"","cuont":1}]}`,
			map[string]any{"unknown": "edits[0].cuont", "did_you_mean": "count", "known": []string{"old", "new", "count"}}},
		{"missing ones", `{"edits":[{}]}`, map[string]any{"missing": []string{"path"}}},
		{"a wrong type", `{"path":7}`, map[string]any{"parameter": "path", "wanted": "text", "got": "a number"}},
		{"a range", `{"path":"p","limit":0}`, map[string]any{"parameter": "limit", "min": 1.0, "max": 1000.0}},
		{"a choice", `{"path":"p","sort":"nam"}`, map[string]any{"parameter": "sort", "allowed": []string{"name", "size"}, "did_you_mean": "name"}},
		{"a name twice", `{"path":"p","path":"p"}`, map[string]any{"duplicate": "path"}},
		{"no JSON", `{"path"}`, map[string]any{"byte": 7}},
	} {
		_, err := decoded[everything](c.in)
		if err == nil {
			t.Errorf("%s: accepted", c.what)
			continue
		}
		if diff := cmp.Diff(c.details, err.Details); diff != "" {
			t.Errorf("%s:\n%s", c.what, diff)
		}
	}
}

func TestSecretsAreNotRepeatedInRefusals(t *testing.T) {
	type in struct {
		Pin     int      `json:"pin,omitempty" max:"9" secret:"true"`
		Kind    string   `json:"kind,omitempty" enum:"a|b" secret:"true"`
		Flag    bool     `json:"flag,omitempty" secret:"true"`
		Content string   `json:"content,omitempty" content:"true"`
		List    []string `json:"list,omitempty" secret:"true"`
		Edits   []edit   `json:"edits,omitempty"`
	}
	for _, raw := range []string{
		`{"pin":424242}`, `{"pin":"424242"}`, `{"pin":1e424242}`, `{"pin":0.424242}`, `{"kind":"424242"}`, `{"flag":"424242"}`,
		`{"content":424242}`, `{"list":"424242"}`, `{"list":[424242]}`, `{"edits":[{"old":424242,"new":""}]}`,
	} {
		_, err := decoded[in](raw)
		if err == nil {
			t.Errorf("%s was accepted", raw)
			continue
		}
		if said := string(err.Envelope(time.Time{}, "")); strings.Contains(said, "4242") {
			t.Errorf("%s: the refusal repeats the secret: %s", raw, said)
		}
	}
}

func TestALongValueIsCutInARefusal(t *testing.T) {
	_, err := decoded[everything](`{"path":"p","sort":"` + strings.Repeat("世", 1000) + `"}`)
	if err == nil || len(err.Msg) > 250 || !strings.Contains(err.Msg, "世…") {
		t.Errorf("%v", err)
	}
}

func TestPathsAreCollectedAtAnyDepth(t *testing.T) {
	type inner struct {
		From string `json:"from" path:"read"`
		To   string `json:"to,omitempty" path:"write"`
	}
	type in struct {
		place
		Path  string   `json:"path" path:"read"`
		Paths []string `json:"paths,omitempty" path:"read"`
		Maybe *string  `json:"maybe,omitempty" path:"read"`
		Moves []inner  `json:"moves,omitempty"`
		One   inner    `json:"one,omitzero"`
		Other string   `json:"other,omitempty"`
	}
	plan := shapeOf(reflect.TypeFor[in]())
	v := in{place{Dir: "d"}, "p", []string{"a", "b"}, new("m"), []inner{{"f", "t"}, {"g", ""}}, inner{From: "h"}, "no path"}
	got := plan.paths(reflect.ValueOf(v))
	if diff := cmp.Diff([]string{"d", "p", "a", "b", "m", "f", "t", "g", "h"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestANameThatStandsTwiceIsFoundAtAnyDepth(t *testing.T) {
	many := strings.Builder{}
	for i := range 24 {
		many.WriteString(`"k` + strings.Repeat("x", i) + `":1,`)
	}
	for _, c := range []struct{ what, in, path string }{
		{"at the top", `{"a":1,"a":2}`, "a"},
		{"the same name by an escape", `{"a":1,"\u0061":2}`, "a"},
		{"the empty name", `{"":1,"":2}`, ""},
		{"in an object", `{"a":{"b":1,"b":1}}`, "a.b"},
		{"in a list", `{"a":[{"b":1},{"b":1,"c":2,"c":3}]}`, "a[1].c"},
		{"among many", `{` + many.String() + `"k":2}`, "k"},
	} {
		n, err := jsonx.Parse([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if path, found := duplicate(n); !found || path != c.path {
			t.Errorf("%s: %q %v, want %q", c.what, path, found, c.path)
		}
	}
	for _, in := range []string{`{"a":1,"A":2}`, `[{"a":1},{"a":1}]`, `{"a":{"a":{"a":1}}}`, `[1,1,1]`, `{` + many.String() + `"b":2}`} {
		n, err := jsonx.Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if path, found := duplicate(n); found {
			t.Errorf("%s: %q does not stand twice", in, path)
		}
	}
}
