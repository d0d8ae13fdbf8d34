package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestEveryRoomTouchesOnlyWhatItMay(t *testing.T) {
	mcptest.Imports(t,
		mcptest.Connects("main.go"),
		mcptest.Tables("tools.go"),
		// The text that directory_tree of the reference server answers is JSON.
		mcptest.Operations("*.go", "filesystem_tree.go"),
		mcptest.Pure("internal/lines/*.go internal/match/*.go"),
		mcptest.ReadOnly("*.go internal/*/*.go"),
		mcptest.Untested("*.go internal/*/*.go"),
	)
}

func TestEveryToolOnlyReadsAndSaysSo(t *testing.T) {
	for _, v := range vocabularies(&reader{}) {
		for _, tool := range v.Tools {
			if tool.Effect != toolkit.Reads || tool.Destructive || tool.OpenWorld {
				t.Errorf("%s of %s says that it %s", tool.Name, v.Name, tool.Effect)
			}
		}
	}
}

// A tool list is paid for in every conversation.
const toolListMax = 10_000

func TestTheToolListsAreTheGoldenOnesAndSmall(t *testing.T) {
	for _, v := range vocabularies(&reader{}) {
		dir := mcptest.Tree(t)
		c := mcptest.Start(t, "file-read", "--allow-path", dir, "--vocabulary", v.Name, "--audit-log", "off")
		list := c.Result("tools/list", map[string]any{})
		var compact bytes.Buffer
		if err := json.Compact(&compact, list); err != nil {
			t.Fatal(err)
		}
		if compact.Len() > toolListMax {
			t.Errorf("the tool list of %s has %d bytes, more than %d", v.Name, compact.Len(), toolListMax)
		}
		mcptest.Golden(t, "testdata/tools/"+v.Name+".json", mcptest.Indent(list))
	}
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(readme)
	for _, v := range vocabularies(&reader{}) {
		text = replaceSection(t, text, "tools "+v.Name, markdown(v.Tools))
	}
	text = replaceSection(t, text, "flags", settings.Markdown(append(settings.Common(), program().Flags...)))
	if text == string(readme) {
		return
	}
	if f := flag.Lookup("update"); f == nil || f.Value.String() != "true" {
		t.Fatal("README.md is not what the code says; run: go test ./file-read -update")
	}
	if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func markdown(tools []toolkit.Tool) string {
	var b strings.Builder
	for _, tool := range tools {
		b.WriteString("\n#" + tool.Markdown()) // a level below the vocabulary
	}
	return b.String() + "\n"
}

// replaceSection puts body between the two comments that mark a generated part.
func replaceSection(t *testing.T, text, name, body string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- begin: %s -->\n", name), fmt.Sprintf("<!-- end: %s -->", name)
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no section %q", name)
	}
	return before + begin + body + end + after
}
