package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestEveryRoomTouchesOnlyWhatItMay(t *testing.T) {
	mcptest.Imports(t,
		mcptest.Connects("main.go"),
		mcptest.Tables("tools.go"),
		// shell.go finds the shell and makes directories, approve.go follows links and
		// finds programs, agent.go makes its folder, verbs.go is the command line.
		mcptest.Operations("*.go", "shell.go", "approve.go", "agent.go", "verbs.go"),
		mcptest.Pure("internal/cmdline/*.go internal/place/*.go internal/programs/*.go internal/effect/*.go internal/policy/*.go"),
		mcptest.Untested("*.go internal/*/*.go"),
		mcptest.Rule{
			Room:    "*.go internal/policy/*.go internal/process/*.go internal/output/*.go",
			Never:   []string{"net/...", "plugin"},
			Because: "this server talks to nobody but its client",
		},
	)
}

func TestEveryToolSaysWhatItDoes(t *testing.T) {
	reads := map[string]bool{"process_get_execution": true, "process_list": true, "read_execution_output": true, "list_execution_outputs": true}
	open := map[string]bool{"shell_exec": true, "shell_execute": true, "bash": true}
	for _, v := range vocabularies(&shell{}) {
		for _, tool := range v.Tools {
			if (tool.Effect == toolkit.Reads) != reads[tool.Name] || tool.OpenWorld != open[tool.Name] || tool.Destructive == reads[tool.Name] {
				t.Errorf("%s of %s says that it %s, open %t, destructive %t", tool.Name, v.Name, tool.Effect, tool.OpenWorld, tool.Destructive)
			}
		}
	}
}

const toolListMax = 12_000 // bytes

func TestTheToolListsAreTheGoldenOnesAndSmall(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, v := range vocabularies(&shell{}) {
		c := mcptest.Start(t, "shell-exec", "--allow-path", mcptest.Tree(t), "--vocabulary", v.Name, "--audit-log", "stderr")
		c.ToolList("testdata/tools/"+v.Name+".json", toolListMax)
	}
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	parts := map[string]string{"flags": settings.Markdown(program().Settings())}
	for _, v := range vocabularies(&shell{}) {
		parts["tools "+v.Name] = v.Markdown()
	}
	mcptest.Sections(t, "README.md", parts)
}
