package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/examples/memory/internal/store"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	mcptest.Imports(t,
		mcptest.Connects("main.go"),
		mcptest.Tables("tools.go"),
		mcptest.Operations("*.go", "verbs.go"), // verbs.go is the command line
		mcptest.Pure("internal/words/*.go"),
		mcptest.Untested("*.go internal/*/*.go"),
		mcptest.Rule{
			Files:   "*.go internal/words/*.go",
			Never:   []string{"database/...", "github.com/ncruces/..."},
			Because: "only the store knows that there is a database, and SQL",
		},
		mcptest.Rule{
			Files:   "*.go internal/*/*.go",
			Never:   []string{"os/exec", "net", "net/http/...", "plugin"},
			Because: "this server starts nothing and talks to nobody",
		},
	)
}

func keeperOf(t *testing.T) *keeper {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "m.db"), store.Limits{Memories: 100, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{store: s}
	t.Cleanup(func() { k.close() })
	return k
}

func agent(k *keeper) toolkit.Vocabulary { return vocabularies(k)[0].Make() }

func TestEveryToolSaysWhatItDoes(t *testing.T) {
	for _, tool := range agent(&keeper{}).Tools {
		if tool.Destructive || tool.OpenWorld || (tool.Effect == toolkit.Reads) != (tool.Name == "recall") || tool.Effect == toolkit.Runs {
			t.Errorf("%s says that it %s", tool.Name, tool.Effect)
		}
	}
}

// Document 004 names the parameters, their types and which are required.
func TestTheVocabularyIsThatOfTheDocument(t *testing.T) {
	var got []string
	for _, tool := range agent(&keeper{}).Tools {
		for _, p := range tool.Params() {
			line := tool.Name + " " + p.Name + " " + p.Type
			if p.Required {
				line += " required"
			}
			if p.Default != "" {
				line += " " + p.Default
			}
			got = append(got, line)
		}
	}
	const want = "remember content string required|remember category string|remember tags string[]|recall query string required|recall limit integer 5"
	if all := strings.Join(got, "|"); all != want {
		t.Errorf("%s\nwant %s", all, want)
	}
}

const toolListMax = 2_000 // bytes

func TestTheToolListIsTheGoldenOneAndSmall(t *testing.T) {
	c := mcptest.Start(t, "memory", "--database", t.TempDir()+"/m.db", "--audit-log", "stderr")
	c.ToolList("testdata/tools/agent.json", toolListMax)
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	mcptest.Sections(t, "README.md", map[string]string{
		"flags":       settings.Markdown(program().Settings()),
		"tools agent": agent(&keeper{}).Markdown(),
	})
}

func TestEverySuccessAndEveryFailureObeysItsSchema(t *testing.T) {
	s, err := toolkit.NewServer(toolkit.Config{Name: "memory", Version: "test", Vocabulary: agent(keeperOf(t))})
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]toolkit.Tool{}
	for _, tool := range s.Tools() {
		mcptest.Schema(t, tool.InputSchema())
		tools[tool.Name] = tool
	}
	for _, c := range []struct {
		tool, args string
		fails      bool
	}{
		{"remember", `{"content":"好きな色は青","category":"preference","tags":["色","colour"]}`, false},
		{"remember", `{"content":"好きな色は青"}`, false},
		{"remember", `{"content":" "}`, true},
		{"remember", `{"contents":"x"}`, true},
		{"recall", `{"query":"好きな色"}`, false},
		{"recall", `{"query":"nothing"}`, false},
		{"recall", `{"query":"色","limit":0}`, true},
		{"recall", `{"query":"色","limit":101}`, true},
	} {
		r := s.Call(t.Context(), c.tool, json.RawMessage(c.args))
		if r.IsError != c.fails {
			t.Errorf("%s with %s: isError is %t: %v", c.tool, c.args, r.IsError, r.Content)
		}
		structured, err := json.Marshal(r.StructuredContent)
		if err == nil {
			err = mcptest.Schema(t, tools[c.tool].OutputSchema())(structured)
		}
		if err != nil {
			t.Errorf("%s with %s: %v", c.tool, c.args, err)
		}
	}
}
