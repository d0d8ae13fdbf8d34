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
		mcptest.Operations("*.go", "program.go"),
		mcptest.Rule{
			Files:   "program.go internal/page/*.go",
			Never:   []string{"net", "net/http/...", "syscall", "os/exec"},
			Because: "dial is the only one that connects",
		},
		mcptest.Rule{
			Files:   "internal/page/*.go",
			Never:   []string{"os/...", "time", "unsafe", mcptest.Shared + "/toolkit", mcptest.Shared + "/confine"},
			Alone:   true,
			Because: "a page is made of memory only, so that its tests are tables and its fuzzing is whole",
		},
		mcptest.Rule{
			Files:   "internal/dial/*.go",
			Never:   []string{"os/...", "io/ioutil", mcptest.Shared + "/toolkit", mcptest.Shared + "/confine"},
			Because: "the guard reads no files and no environment, a proxy in it least of all",
		},
		mcptest.Rule{
			Files:   "*.go internal/*/*.go",
			Deep:    true,
			Never:   []string{mcptest.Shared + "/replace", "plugin", "net/http/httputil", "net/http/cookiejar"},
			Because: "what fetches pages changes no files and remembers nothing of a server",
		},
		mcptest.Untested("*.go internal/*/*.go"),
	)
}

func TestEveryToolOnlyReadsAndSaysSo(t *testing.T) {
	for _, v := range everyVocabulary(&fetcher{}) {
		for _, tool := range v.Tools {
			if tool.Effect != toolkit.Reads || tool.Destructive || !tool.OpenWorld {
				t.Errorf("%s of %s says that it %s", tool.Name, v.Name, tool.Effect)
			}
		}
	}
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	parts := map[string]string{"flags": settings.Markdown(program().Settings())}
	for _, v := range everyVocabulary(&fetcher{}) {
		parts["tools "+v.Name] = v.Markdown()
	}
	mcptest.Sections(t, "README.md", parts)
}

// everyVocabulary is all vocabularies with their tools.
func everyVocabulary(f *fetcher) []toolkit.Vocabulary {
	var all []toolkit.Vocabulary
	for _, v := range vocabularies(f) {
		all = append(all, v.Make())
	}
	return all
}
