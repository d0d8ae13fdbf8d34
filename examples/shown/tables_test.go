package shown

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// counterpart is a tool of somebody else's server, and what stands for it here.
type counterpart struct{ theirs, ours, note string }

// filesystem are the tools of @modelcontextprotocol/server-filesystem.
var filesystem = []counterpart{
	{"read_text_file", "file-read", "`file_read`, with any range of lines, and encodings"},
	{"read_file", "file-read", "`file_read`"},
	{"read_media_file", "file-read", "`file_read` with `--allow-mime`"},
	{"read_multiple_files", "file-read", "`read_multiple_files`"},
	{"list_directory", "file-read", "`list_directory`, in pages"},
	{"list_directory_with_sizes", "file-read", "`list_directory` with `sort: size`"},
	{"directory_tree", "file-read", "`directory_tree`, without what `.gitignore` excludes"},
	{"search_files", "file-read", "`find_files_by_pattern`; contents: `search_content_in_files`"},
	{"get_file_info", "file-read", "`get_file_info`, with MIME type and encoding"},
	{"list_allowed_directories", "file-read", "`list_allowed_directories`, of each server"},
	{"write_file", "file-write", "`file_write`, which overwrites only if told to"},
	{"edit_file", "file-write", "`edit_file`"},
	{"create_directory", "file-write", "`create_directory`"},
	{"move_file", "file-write", "`move_file`, `copy_file`"},
}

func TestTheToolsOfTheReferenceServerAreHere(t *testing.T) {
	w := newFixture(t)
	offered := map[string][]string{}
	for _, s := range []string{"file-read", "file-write"} {
		offered[s] = w.tools(t, s, "filesystem")
	}
	rows := "| tool | server | without `--vocabulary` |\n|---|---|---|\n"
	told := map[string][]string{}
	for _, c := range filesystem {
		told[c.ours] = append(told[c.ours], c.theirs)
		rows += "| `" + c.theirs + "` | `" + c.ours + "` | " + c.note + " |\n"
	}
	for s := range offered {
		slices.Sort(offered[s])
		slices.Sort(told[s])
	}
	if diff := cmp.Diff(offered, told); diff != "" {
		t.Error(diff)
	}
	mcptest.Sections(t, "../../docs/migrating-from-filesystem.md", map[string]string{"filesystem": rows})
}

// shellServer are the tools of @mako10k/mcp-shell-server 2.7.1, and then those of its
// specification that it does not have.
var shellServer = []counterpart{
	{"shell_execute", "shell_execute", ""},
	{"shell_set_default_workdir", "shell_set_default_workdir", ""},
	{"process_get_execution", "process_get_execution", "with `wait_seconds` it waits for the end"},
	{"list_execution_outputs", "list_execution_outputs", ""},
	{"read_execution_output", "read_execution_output", ""},
	{"delete_execution_outputs", "delete_execution_outputs", ""},
	{"get_cleanup_suggestions", "", "the oldest outputs go first: `--output-size`"},
	{"perform_auto_cleanup", "", "likewise"},
	{"terminal_operate", "terminal_create", "and the two below"},
	{"", "terminal_send_input", ""},
	{"", "terminal_get_output", "waits for a line, for quiet or for the end"},
	{"terminal_list", "terminal_list", ""},
	{"terminal_get_info", "terminal_get_info", ""},
	{"terminal_close", "terminal_close", ""},
	{"command_history_query", "", "`shell-exec audit query`, for the operator"},
	{"adjust_criteria", "", "a [policy](policy.md), by the operator"},
	{"", "terminal_resize", "in its specification"},
	{"", "process_list", "in its specification"},
	{"", "process_terminate", "in its specification"},
	{"", "process_monitor", "in its specification"},
	{"", "security_set_restrictions", "in its specification; it only tightens"},
	{"", "monitoring_get_stats", "in its specification"},
}

func TestTheToolsOfTheShellServerAreHere(t *testing.T) {
	rows := "| mcp-shell-server | here | |\n|---|---|---|\n"
	var told []string
	for _, c := range shellServer {
		if c.ours != "" {
			told = append(told, c.ours)
		}
		rows += "| " + code(c.theirs) + " | " + code(c.ours) + " | " + c.note + " |\n"
	}
	offered := newFixture(t).tools(t, "shell-exec", "shell-server")
	slices.Sort(offered)
	slices.Sort(told)
	if diff := cmp.Diff(offered, told); diff != "" {
		t.Error(diff)
	}
	mcptest.Sections(t, "../../docs/migrating-from-mcp-shell-server.md", map[string]string{"shell-server": rows})
}

func code(name string) string {
	if name == "" {
		return "–"
	}
	return "`" + name + "`"
}

// tools are the names that a server offers under a vocabulary.
func (w fixture) tools(t *testing.T, server, vocabulary string) (names []string) {
	t.Helper()
	out, err := w.run(you+"/bin/"+server, "tools", "--json", "--vocabulary", vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	var tools []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &tools); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}
