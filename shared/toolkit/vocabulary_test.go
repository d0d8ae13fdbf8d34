package toolkit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
)

func names(v Vocabulary) string {
	var all []string
	for _, t := range v.Tools {
		all = append(all, t.Name)
	}
	return strings.Join(all, " ")
}

func TestNarrowLeavesOnlyWhatIsGranted(t *testing.T) {
	v := newFixture(t, nil).config.Vocabulary
	if got := fmt.Sprint(v.Toolsets()); got != "[talk keep]" {
		t.Errorf("toolsets %s", got)
	}
	for _, c := range []struct {
		what     string
		toolsets []string
		want     string
	}{
		{"none named", nil, "say store misbehave"},
		{"one", []string{"keep"}, "store"},
		{"two, in any order", []string{"keep", "talk"}, "say store misbehave"},
		{"one twice", []string{"talk", "talk"}, "say misbehave"},
	} {
		got, err := v.Narrow(c.toolsets)
		if err != nil || names(got) != c.want {
			t.Errorf("%s: %s %v", c.what, names(got), err)
		}
	}
	if names(v) != "say store misbehave" {
		t.Error("narrowing changed the table")
	}
	narrow, _ := v.Narrow([]string{"talk"})
	if _, err := narrow.Narrow([]string{"keep"}); err == nil {
		t.Error("what is not granted was granted again")
	}
	again, _ := narrow.Narrow([]string{"talk"})
	if e := fault.From(again.absent("store")); e.Code != fault.PermissionDenied {
		t.Errorf("narrowed twice, a tool that is not granted is %v", e)
	}
}

func TestAnUnknownToolsetIsMisconfigured(t *testing.T) {
	v := newFixture(t, nil).config.Vocabulary
	for _, c := range []struct{ name, says string }{
		{"tlak", `SYSTEM_003: vocabulary "standard" has no toolset "tlak". Did you mean "talk"? The toolsets are talk, keep.`},
		{"", `SYSTEM_003: vocabulary "standard" has no toolset "". The toolsets are talk, keep.`},
	} {
		got, err := v.Narrow([]string{"talk", c.name})
		if e := fault.From(err); e == nil || e.Error() != c.says || len(got.Tools) != 0 {
			t.Errorf("%v", err)
		}
	}
}

func TestTheServerDoesNotShareItsTable(t *testing.T) {
	w := newFixture(t, nil)
	w.Tools()[0] = Tool{}
	if w.Tools()[0].Name != "say" {
		t.Error("a caller changed the table")
	}
	schema := w.Tools()[0].InputSchema()
	schema[0] = 'x'
	if w.Tools()[0].InputSchema()[0] != '{' {
		t.Error("a caller changed a schema")
	}
}

func TestParametersAreDocumentedFromTheirTags(t *testing.T) {
	tool := New(Spec{Name: "all", Doc: "Take everything.", Effect: Writes}, func(_ context.Context, _ everything) (manyResults, error) { return manyResults{}, nil })
	want := "### `all`\n\nTake everything.\n\n| parameter | type | required | default | meaning |\n|---|---|---|---|---|\n" + strings.Join([]string{
		"| `dir` | string |  |  | where to look |", "| `deep` | boolean |  |  |  |", "| `path` | string | yes |  | the file |", "| `also` | string[] |  |  |  |",
		"| `sort` | string |  | `name` | one of `name`, `size` |", "| `fields` | string[] |  |  | one of `a`, `b` |", "| `limit` | integer |  | `50` | between 1 and 1000 |",
		"| `offset` | integer |  |  |  |", "| `ratio` | number |  |  | between 0 and 0.5 |", "| `all` | boolean |  | `true` |  |", "| `depth` | integer |  |  | at most 8 |",
		"| `mode` | string |  |  | one of `fast`, `slow` |", "| `force` | boolean |  |  |  |", "| `scale` | number |  |  |  |", "| `edits` | object[] |  |  |  |",
		"| `edits[].old` | string | yes |  |  |", "| `edits[].new` | string | yes |  |  |", "| `edits[].count` | integer |  | `1` | at least 1 |",
		"| `window` | object |  |  |  |", "| `window.from` | integer |  | `1` |  |", "| `window.to` | integer |  |  |  |", "| `env` | object |  |  |  |", "| `token` | string |  |  |  |",
	}, "\n") + "\n"
	if got := tool.Markdown(); got != want {
		t.Errorf("got\n%s", got)
	}
	var got []string
	for _, p := range tool.Results() {
		got = append(got, p.Name+":"+p.Type)
	}
	if s := strings.Join(got, " "); s != "dir:string deep:boolean text:string lines:string[] tree:object trees:object[] size:integer links:integer share:number modified:string data:string pair:integer[] counts:object any:any raw:any maybe:object lists:string[][] extra:string[] tables:object[]" {
		t.Error(s)
	}
}

func TestATableCellHoldsItsCell(t *testing.T) {
	type in struct {
		A string `json:"a,omitempty" doc:"one | two\nthree"`
	}
	tool := New(Spec{Name: "all", Doc: "Take it.", Effect: Reads}, func(context.Context, in) (manyResults, error) { return manyResults{}, nil })
	if got := tool.Markdown(); !strings.HasSuffix(got, "|\n| `a` | string |  |  | one \\| two three |\n") {
		t.Errorf("%q", got)
	}
}

func TestAToolUnderAnotherNameIsTheSame(t *testing.T) {
	tool := manyResultsTool(manyResults{})
	other := tool.Named("other")
	if other.Name != "other" || tool.Name == "other" || string(other.InputSchema()) != string(tool.InputSchema()) || other.Doc != tool.Doc {
		t.Errorf("%+v", other.Spec)
	}
	defer func() {
		if recover() == nil {
			t.Error("a tool can be called anything")
		}
	}()
	tool.Named("an other")
}
