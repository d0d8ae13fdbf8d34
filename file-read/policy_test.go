package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	pure := mcptest.Pure("internal/lines/*.go internal/match/*.go internal/dfa/*.go")
	pure.Except = []string{"scan_amd64.go", "parallel.go", "lineindex.go"}
	mcptest.Imports(t,
		mcptest.Connects("main.go"),
		mcptest.Tables("tools.go"),
		// The text that directory_tree of the reference server answers is JSON.
		mcptest.Operations("*.go", "filesystem_tree.go"),
		pure,
		mcptest.Rule{
			Files:   "internal/match/scan*.go internal/match/parallel.go internal/lines/lineindex.go",
			Never:   []string{"os/...", "net/...", "syscall", "unsafe", "golang.org/x/sys/unix", mcptest.Shared + "/toolkit"},
			Because: "what makes these packages quick is memory, vectors and goroutines: files are opened by those who confine them",
		},
		mcptest.Rule{
			Files:   "internal/index/*.go",
			Never:   []string{"os/...", "net/...", mcptest.Shared + "/toolkit"},
			Because: "the index takes memory from the system, and is told of files by those who read them",
		},
		mcptest.ReadOnly("*.go internal/*/*.go"),
		mcptest.Untested("*.go internal/*/*.go"),
	)
}

func TestEveryToolOnlyReadsAndSaysSo(t *testing.T) {
	for _, v := range everyVocabulary(&reader{}) {
		for _, tool := range v.Tools {
			if tool.Effect != toolkit.Reads || tool.Destructive || tool.OpenWorld {
				t.Errorf("%s of %s says that it %s", tool.Name, v.Name, tool.Effect)
			}
		}
	}
}

const toolListMax = 10_000 // bytes

func TestTheToolListsAreTheGoldenOnesAndSmall(t *testing.T) {
	for _, v := range everyVocabulary(&reader{}) {
		c := mcptest.Start(t, "file-read", "--allow-path", mcptest.Tree(t), "--vocabulary", v.Name, "--audit-log", "off")
		c.ToolList("testdata/tools/"+v.Name+".json", toolListMax)
	}
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	parts := map[string]string{"flags": settings.Markdown(program().Settings())}
	for _, v := range everyVocabulary(&reader{}) {
		parts["tools "+v.Name] = v.Markdown()
	}
	mcptest.Sections(t, "README.md", parts)
}

// everyVocabulary is all vocabularies with their tools.
func everyVocabulary(r *reader) []toolkit.Vocabulary {
	var all []toolkit.Vocabulary
	for _, v := range vocabularies(r) {
		all = append(all, v.Make())
	}
	return all
}
