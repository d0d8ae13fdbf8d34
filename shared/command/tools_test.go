package command_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestToolsAreListedAsTheyAreOffered(t *testing.T) {
	w := newFixture(t)
	contains(t, "the table", w.must(t, 0, "tools").out,
		"greet  reads   words    name [times] [loud] [also]", "keep   writes  files    file",
		"vocabulary: standard (of standard, agent)", "toolsets: words, files")
	contains(t, "Markdown", w.must(t, 0, "tools", "--markdown").out, "### `greet`", "| `name` | string | yes |", "### `keep`")
	contains(t, "help", w.must(t, 0, "tools", "--help").out, "--markdown", "toolsets: words, files")

	narrow := w.must(t, 0, "tools", "--toolsets", "words").out
	contains(t, "the table", narrow, "greet", "toolsets: words, files")
	if strings.Contains(narrow, "keep") {
		t.Errorf("a tool that is not offered is listed:\n%s", narrow)
	}
}

func TestToolsAsJSONCarryTheirSchemas(t *testing.T) {
	var got []struct {
		Name, Effect, Toolset     string
		InputSchema, OutputSchema map[string]any
	}
	if err := json.Unmarshal([]byte(newFixture(t).must(t, 0, "tools", "--json").out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "greet" || got[1].Effect != "writes" || got[0].InputSchema["type"] != "object" || got[1].OutputSchema == nil {
		t.Errorf("got %+v", got)
	}
}

func TestLookingAtToolsRecordsNothing(t *testing.T) {
	w := newFixture(t)
	w.must(t, 0, "tools")
	contains(t, "stderr", w.must(t, 1, "audit", "verify").errors, "RESOURCE_003")
}
