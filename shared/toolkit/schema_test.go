package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
)

// compiled fails the test where the schema is none.
func compiled(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem:s", doc); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	s, err := c.Compile("mem:s")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return s
}

func obeys(t *testing.T, s *jsonschema.Schema, raw json.RawMessage) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s.Validate(v)
}

func TestEveryTagStandsInTheSchema(t *testing.T) {
	plan := shapeOf(reflect.TypeFor[everything]())
	want := `{
"type":"object","properties":{
"dir":{"type":"string","description":"where to look"},
"deep":{"type":"boolean"},
"path":{"type":"string","description":"the file"},
"also":{"type":"array","items":{"type":"string"},"maxItems":3},
"sort":{"type":"string","enum":["name","size"],"default":"name"},
"fields":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1},
"limit":{"type":"integer","minimum":1,"maximum":1000,"default":50},
"offset":{"type":"integer"},
"ratio":{"type":"number","minimum":0,"maximum":0.5},
"all":{"type":"boolean","default":true},
"depth":{"type":"integer","maximum":8},
"mode":{"type":"string","enum":["fast","slow"]},
"force":{"type":"boolean"},
"scale":{"type":"number"},
"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"},"count":{"type":"integer","minimum":1,"default":1}},"required":["old","new"],"additionalProperties":false},"maxItems":2},
"window":{"type":"object","properties":{"from":{"type":"integer","default":1},"to":{"type":"integer"}},"additionalProperties":false},
"env":{"type":"object","additionalProperties":{"type":"string"}},
"token":{"type":"string"}},
"required":["path"],"additionalProperties":false}`
	if got := string(mustJSON(plan.inputSchema())); got != strings.ReplaceAll(want, "\n", "") {
		t.Errorf("got %s", got)
	}
}

// A host that validates by the schema and the decoder must not disagree.
func TestTheSchemaAndTheDecoderAgree(t *testing.T) {
	plan := shapeOf(reflect.TypeFor[everything]())
	schema := compiled(t, mustJSON(plan.inputSchema()))
	for _, raw := range []string{
		`{"path":"p"}`, `{}`, `{"path":1}`, `{"path":"p","x":1}`, `{"path":"p","limit":1}`, `{"path":"p","limit":0}`,
		`{"path":"p","limit":1001}`, `{"path":"p","limit":3.0}`, `{"path":"p","limit":3.5}`, `{"path":"p","limit":"3"}`,
		`{"path":"p","ratio":0.5}`, `{"path":"p","ratio":0.6}`, `{"path":"p","ratio":-0.1}`, `{"path":"p","sort":"name"}`,
		`{"path":"p","sort":"x"}`, `{"path":"p","fields":[]}`, `{"path":"p","fields":["a"]}`, `{"path":"p","fields":["z"]}`,
		`{"path":"p","also":["a","b","c"]}`, `{"path":"p","also":["a","b","c","d"]}`, `{"path":"p","also":"a"}`, `{"path":"p","also":[1]}`,
		`{"path":"p","edits":[]}`, `{"path":"p","edits":[{}]}`, `{"path":"p","edits":[{"old":"","new":""}]}`,
		`{"path":"p","edits":[{"old":"","new":"","x":1}]}`, `{"path":"p","edits":[{"old":"","new":"","count":0}]}`,
		`{"path":"p","window":{}}`, `{"path":"p","window":{"x":1}}`, `{"path":"p","window":[]}`, `{"path":"p","depth":9}`, `{"path":"p","depth":8}`,
		`{"path":"p","env":{}}`, `{"path":"p","env":{"A":"1"}}`, `{"path":"p","env":{"A":1}}`, `{"path":"p","mode":"fast"}`, `{"path":"p","mode":""}`,
		`[]`, `"p"`, `{"path":"p","all":"true"}`, `{"path":"p","deep":true,"dir":"d"}`,
	} {
		_, refused := decoded[everything](raw)
		if broken := obeys(t, schema, json.RawMessage(raw)); (broken == nil) != (refused == nil) {
			t.Errorf("%s: the schema says %v, the decoder says %v", raw, broken, refused)
		}
	}
}

type branch struct {
	Name  string   `json:"name"`
	Kids  []branch `json:"kids,omitempty"`
	Other *leaf    `json:"other,omitempty"`
}

type leaf struct {
	Back []branch `json:"back"`
}

type manyResults struct {
	place
	Text     string            `json:"text" doc:"what was found"`
	Lines    []string          `json:"lines"`
	Tree     branch            `json:"tree"`
	Trees    []branch          `json:"trees,omitempty"`
	Size     int64             `json:"size"`
	Links    uint64            `json:"links"`
	Share    float32           `json:"share"`
	Modified time.Time         `json:"modified,omitzero"`
	Data     []byte            `json:"data"`
	Pair     [2]int            `json:"pair"`
	Counts   map[string]int    `json:"counts"`
	Any      any               `json:"any,omitempty"`
	Raw      json.RawMessage   `json:"raw,omitempty"`
	Maybe    *leaf             `json:"maybe,omitempty"`
	Lists    [][]string        `json:"lists"`
	Extra    []string          `json:"extra,omitzero"`
	Tables   []map[string]leaf `json:"tables"`
	hidden   int
	Skipped  int `json:"-"`
}

func manyResultsTool(result manyResults) Tool {
	return New(Spec{Name: "many", Doc: "Give everything.", Effect: Reads},
		func(context.Context, struct{}) (manyResults, error) { return result, nil })
}

func TestResultsObeyTheirSchemaEvenWhenTheyAreZero(t *testing.T) {
	full := manyResults{
		place: place{"d", true}, Text: "null", Lines: []string{"a"}, Modified: time.Unix(0, 0), Data: []byte("x"),
		Tree:   branch{"a", []branch{{"b", nil, &leaf{}}}, &leaf{}},
		Counts: map[string]int{"a": 1}, Any: []any{nil}, Raw: json.RawMessage(`null`), Maybe: &leaf{},
		Lists: [][]string{nil, {"a"}}, Tables: []map[string]leaf{nil, {"a": {}}}, hidden: 7,
	}
	for _, c := range []struct {
		what   string
		result manyResults
		want   string
	}{
		{"all zero", manyResults{}, `{"text":"","lines":[],"tree":{"name":""},"size":0,"links":0,"share":0,"data":"","pair":[0,0],"counts":{},"lists":[],"tables":[]}`},
		{"full, with nil inside", full, `{"dir":"d","deep":true,"text":"null","lines":["a"],"tree":{"name":"a","kids":[{"name":"b","other":{"back":[]}}],"other":{"back":[]}},` +
			`"size":0,"links":0,"share":0,"modified":"1970-01-01T00:00:00Z","data":"eA==","pair":[0,0],"counts":{"a":1},"any":[null],"raw":null,"maybe":{"back":[]},"lists":[[],["a"]],"tables":[{},{"a":{"back":[]}}]}`},
	} {
		c.result.Modified = c.result.Modified.UTC()
		tool := manyResultsTool(c.result)
		ready, err := tool.prepare(jsonx.Value{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ready.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(got.structured.RawMessage) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got.structured.RawMessage, c.want)
		}
		if err := obeys(t, compiled(t, tool.OutputSchema()), got.structured.RawMessage); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if full.Lists[0] != nil || full.Tree.Kids[0].Other.Back != nil {
		t.Error("filling in changed what the tool holds")
	}
}

func TestTheOutputSchemaRefusesWhatIsNeitherSuccessNorFailure(t *testing.T) {
	schema := compiled(t, manyResultsTool(manyResults{}).OutputSchema())
	for _, raw := range []string{`{}`, `{"lines":[]}`, `{"text":1}`, `{"error":"no object"}`, `[]`, `null`} {
		if obeys(t, schema, json.RawMessage(raw)) == nil {
			t.Errorf("%s obeys the schema", raw)
		}
	}
	failed := fault.New(fault.ParamMissing, "m", "").Envelope(time.Time{}, "")
	if err := obeys(t, schema, failed); err != nil {
		t.Errorf("%s: %v", failed, err)
	}
}
