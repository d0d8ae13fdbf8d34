package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/settings"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	mcptest.Imports(t,
		mcptest.Connects("main.go"),
		mcptest.Tables("tools.go"),
		// shell.go finds the shell and makes directories, approve.go follows links and
		// finds programs, grant.go and rights_unix.go look at what a yes would open,
		// agent.go makes its folder, verbs.go is the command line.
		mcptest.Operations("*.go", "shell.go", "approve.go", "grant.go", "rights_unix.go", "agent.go", "verbs.go"),
		mcptest.Pure("internal/cmdline/*.go internal/effect/*.go internal/policy/*.go"),
		mcptest.Untested("*.go internal/*/*.go"),
		mcptest.Rule{
			Files:   "*.go internal/policy/*.go internal/process/*.go internal/output/*.go",
			Never:   []string{"net/...", "plugin"},
			Because: "this server talks to nobody but its client",
		},
	)
}

func TestEveryToolSaysWhatItDoes(t *testing.T) {
	const reads = "process_get_execution shell_get_execution process_list process_monitor read_execution_output file_read list_execution_outputs file_list " +
		"terminal_list terminal_get_info terminal_get terminal_get_output terminal_output monitoring_get_stats"
	const open = "shell_exec shell_execute bash terminal_create terminal_send_input terminal_input"
	const gentle = "shell_set_default_workdir terminal_resize security_set_restrictions"
	for _, v := range everyVocabulary(&shell{}) {
		for _, tool := range v.Tools {
			in := func(names string) bool { return slices.Contains(strings.Fields(names), tool.Name) }
			if (tool.Effect == toolkit.Reads) != in(reads) || tool.OpenWorld != in(open) || tool.Destructive == (in(reads) || in(gentle)) {
				t.Errorf("%s of %s says that it %s, open %t, destructive %t", tool.Name, v.Name, tool.Effect, tool.OpenWorld, tool.Destructive)
			}
		}
	}
}

func TestTheVocabulariesOfTheDocumentsAreWhole(t *testing.T) {
	const renaming = "shell_execute shell_set_default_workdir process_get_execution process_list process_terminate process_monitor " +
		"list_execution_outputs read_execution_output delete_execution_outputs terminal_create terminal_list terminal_get_info terminal_send_input " +
		"terminal_get_output terminal_resize terminal_close security_set_restrictions monitoring_get_stats"
	const specification = "shell_execute shell_get_execution process_list process_kill process_monitor file_list file_read file_delete " +
		"terminal_create terminal_list terminal_get terminal_input terminal_output terminal_resize terminal_close security_set_restrictions monitoring_get_stats"
	documents := map[string]string{"standard": "shell_exec " + renaming, "agent": "bash", "shell-server": renaming, "shell-server-2.0": specification}
	for _, v := range everyVocabulary(&shell{}) {
		var names []string
		for _, tool := range v.Tools {
			names = append(names, tool.Name)
		}
		want := strings.Fields(documents[v.Name])
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("%s offers %v, its document %v", v.Name, names, want)
		}
	}
}

const toolListMax = 24 << 10 // bytes

func TestTheToolListsAreTheGoldenOnesAndSmall(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, v := range everyVocabulary(&shell{}) {
		c := mcptest.Start(t, "shell-exec", "--allow-path", mcptest.Tree(t), "--vocabulary", v.Name, "--audit-log", "stderr")
		c.ToolList("testdata/tools/"+v.Name+".json", toolListMax)
	}
}

func TestTheReadmeHasTheTablesOfTheCode(t *testing.T) {
	parts := map[string]string{"flags": settings.Markdown(program().Settings())}
	for _, v := range everyVocabulary(&shell{}) {
		parts["tools "+v.Name] = v.Markdown()
	}
	parts["tools shell-server"] = listed("shell-server")
	parts["tools shell-server-2.0"] = listed("shell-server-2.0")
	mcptest.Sections(t, "README.md", parts)
}

// listed is the names of a vocabulary whose tools stand under standard, by other names.
func listed(name string) string {
	var b strings.Builder
	for _, v := range everyVocabulary(&shell{}) {
		for _, tool := range v.Tools {
			if v.Name == name {
				fmt.Fprintf(&b, "`%s` ", tool.Name)
			}
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// everyVocabulary is all vocabularies with their tools.
func everyVocabulary(s *shell) []toolkit.Vocabulary {
	var all []toolkit.Vocabulary
	for _, v := range vocabularies(s) {
		all = append(all, v.Make())
	}
	return all
}
