package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	mcptest.Imports(t,
		mcptest.Connects("main.go"),
		mcptest.Tables("tools.go"),
		// delete and move are shown the open file that goes, as an *os.File.
		mcptest.Operations("*.go", "delete.go", "move.go"),
		mcptest.Pure("internal/edit/*.go internal/diff/*.go internal/guard/*.go"),
		mcptest.Untested("*.go internal/*/*.go"),
		mcptest.Rule{
			Files:   "*.go internal/*/*.go",
			Never:   []string{"os/exec", "net/...", "plugin"},
			Because: "this server starts nothing and talks to nobody",
		},
	)
}

func TestEveryToolSaysWhatItDoes(t *testing.T) {
	reads := map[string]bool{"list_allowed_directories": true, "list_changes": true}
	gentle := map[string]bool{"create_directory": true}
	for _, v := range everyVocabulary(&writer{}) {
		for _, tool := range v.Tools {
			if (tool.Effect == toolkit.Reads) != reads[tool.Name] || tool.Effect == toolkit.Runs || tool.OpenWorld {
				t.Errorf("%s of %s says that it %s", tool.Name, v.Name, tool.Effect)
			}
			if tool.Destructive == (reads[tool.Name] || gentle[tool.Name]) {
				t.Errorf("%s of %s says of itself that it is destructive: %t", tool.Name, v.Name, tool.Destructive)
			}
		}
	}
}

const toolListMax = 8_000 // bytes

func TestTheToolListsAreTheGoldenOnesAndSmall(t *testing.T) {
	for _, v := range everyVocabulary(&writer{}) {
		c := mcptest.Start(t, "file-write", "--allow-path", mcptest.Tree(t), "--vocabulary", v.Name, "--audit-log", "stderr", "--history", t.TempDir())
		c.ToolList("testdata/tools/"+v.Name+".json", toolListMax)
	}
	all := mcptest.Start(t, "file-write", "--allow-path", mcptest.Tree(t), "--toolsets", "write,edit,manage,delete,history", "--audit-log", "stderr", "--history", t.TempDir())
	all.ToolList("testdata/tools/standard-with-all-toolsets.json", 12_000)
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	parts := map[string]string{"flags": settings.Markdown(program().Settings())}
	for _, v := range everyVocabulary(&writer{}) {
		parts["tools "+v.Name] = v.Markdown()
	}
	mcptest.Sections(t, "README.md", parts)
}

// everyVocabulary is all vocabularies with their tools.
func everyVocabulary(w *writer) []toolkit.Vocabulary {
	var all []toolkit.Vocabulary
	for _, v := range vocabularies(w) {
		all = append(all, v.Make())
	}
	return all
}
