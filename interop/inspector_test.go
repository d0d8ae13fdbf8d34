package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// How the inspector ends, as its documentation has it.
const (
	inspectorDone      = 0
	inspectorToolError = 5 // the call's result is an error
)

// inspect runs one method of the inspector's command line against a server.
// The era is pinned: an inspector that cannot have it fails.
func inspect(t *testing.T, era mcptest.Era, server []string, method ...string) (result json.RawMessage, code int) {
	t.Helper()
	line := onNode(t, "mcp-inspector", "--cli", "--quiet", "--format", "json", "--protocol-era", era.String(), "--method")
	line = append(append(append(line, method...), "--"), server...)
	stdout, code := output(t, line)
	var envelope struct{ Result json.RawMessage }
	if err := json.Unmarshal(stdout, &envelope); err != nil {
		t.Fatalf("the inspector printed %q: %v", stdout, err)
	}
	return envelope.Result, code
}

// inBothEras runs a test in each.
func inBothEras(t *testing.T, test func(t *testing.T, era mcptest.Era)) {
	for _, era := range mcptest.Eras() {
		t.Run(era.String(), func(t *testing.T) { test(t, era) })
	}
}

// Each start of the inspector costs more than a second, so that what is the same in both
// eras is looked at in one of them.

func TestTheInspectorFindsNoFaultInAnyToolList(t *testing.T) {
	root := mcptest.Tree(t, "a.txt=hello\n")
	for _, offer := range offers {
		for _, era := range mcptest.Eras() {
			if era == mcptest.Legacy || offer.vocabulary == "standard" {
				t.Run(offer.String()+" "+era.String(), func(t *testing.T) {
					t.Parallel()
					listed(t, offer, era, root)
				})
			}
		}
	}
}

func listed(t *testing.T, offer offer, era mcptest.Era, root string) {
	command := offer.over(root)
	result, code := inspect(t, era, command, "tools/list", "--strict")
	if code != inspectorDone {
		t.Errorf("it ended with %d: its words are in the log", code)
	}
	own := names(mcptest.Options{Era: era}.Start(t, command[0], command[1:]...).Tools())
	if seen := toolsIn(t, result); !slices.Equal(seen, own) || len(own) != offer.tools {
		t.Errorf("it sees %v, our own client %v, and there should be %d", seen, own, offer.tools)
	}
}

func toolsIn(t *testing.T, result json.RawMessage) []string {
	t.Helper()
	var list struct{ Tools []mcptest.Tool }
	if err := json.Unmarshal(result, &list); err != nil {
		t.Fatal(err)
	}
	return names(list.Tools)
}

func names(tools []mcptest.Tool) []string {
	var all []string
	for _, tool := range tools {
		all = append(all, tool.Name)
	}
	return all
}

// callWith calls a tool by the inspector, with arguments as it wants them: key=value.
func callWith(t *testing.T, era mcptest.Era, server []string, tool string, args ...string) (r inspected, code int) {
	t.Helper()
	method := []string{"tools/call", "--tool-name", tool}
	for _, arg := range args {
		method = append(method, "--tool-arg", arg)
	}
	result, code := inspect(t, era, server, method...)
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("%v: %s", err, result)
	}
	return r, code
}

// inspected is a result as the inspector prints it.
type inspected struct {
	Content           []mcptest.Block
	StructuredContent map[string]any
}

func TestTheInspectorCallsATool(t *testing.T) {
	const legacy, modern = mcptest.Legacy, mcptest.Modern
	tests := []struct {
		era                 mcptest.Era
		name, program, tool string
		args                []string
		text                string
		code                int
		leaves              string // what a.txt holds afterwards
	}{
		{legacy, "a file is read", "file-read", "file_read", []string{"path=a.txt"}, "hello", inspectorDone, "hello\n"},
		{modern, "a file is read", "file-read", "file_read", []string{"path=a.txt"}, "hello", inspectorDone, "hello\n"},
		{legacy, "a link is an error of the tool's", "file-read", "file_read", []string{"path=link"}, "SECURITY_003", inspectorToolError, "hello\n"},
		{modern, "so is what is outside", "file-read", "file_read", []string{"path=/etc/passwd"}, "SECURITY_002", inspectorToolError, "hello\n"},
		{legacy, "a file is written", "file-write", "file_write", []string{"path=a.txt", "content=new", "overwrite=true"}, "Replaced: a.txt", inspectorDone, "new"},
		{modern, "without a word it is not overwritten", "file-write", "file_write", []string{"path=a.txt", "content=new"}, "RESOURCE_", inspectorToolError, "hello\n"},
		{modern, "a text is replaced", "file-write", "edit_file", []string{"path=a.txt", `edits=[{"old_string": "ell", "new_string": "all"}]`}, "Edited: a.txt", inspectorDone, "hallo\n"},
		{legacy, "what is not there is not", "file-write", "edit_file", []string{"path=a.txt", "old_string=bye", "new_string=x"}, "PARAM_", inspectorToolError, "hello\n"},
		{legacy, "a file is moved", "file-write", "move_file", []string{"source=b.txt", "destination=n/b.txt"}, "Moved: b.txt to n/b.txt", inspectorDone, "hello\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.era.String(), func(t *testing.T) {
			t.Parallel()
			root := mcptest.Tree(t, "a.txt=hello\n", "b.txt=b", "link => a.txt")
			r, code := callWith(t, tt.era, server(tt.program, root), tt.tool, tt.args...)
			if code != tt.code || !strings.HasPrefix(r.Content[0].Text, tt.text) {
				t.Errorf("it ended with %d and %v", code, r)
			}
			holds(t, filepath.Join(root, "a.txt"), tt.leaves)
		})
	}
}

func TestTheInspectorDeletesInOneEraAndRestoresInTheOther(t *testing.T) {
	t.Parallel()
	root := mcptest.Tree(t, "d/a.txt=hello\n")
	line := writeOffer.over(root)
	deleted, code := callWith(t, mcptest.Legacy, line, "delete_file", "path=d", "recursive=true")
	if _, err := os.Lstat(filepath.Join(root, "d")); code != inspectorDone || err == nil {
		t.Fatalf("it ended with %d and %v; looking for it: %v", code, deleted, err)
	}
	id, _ := deleted.StructuredContent["trashId"].(string)
	if restored, code := callWith(t, mcptest.Modern, line, "restore_file", "change_id="+id); code != inspectorDone {
		t.Errorf("it ended with %d and %v", code, restored)
	}
	holds(t, filepath.Join(root, "d", "a.txt"), "hello\n")
}

func TestTheInspectorReadsResources(t *testing.T) {
	t.Parallel()
	root := mcptest.Tree(t, "a.txt=hello\n")
	templates, code := inspect(t, mcptest.Legacy, server("file-read", root), "resources/templates/list")
	if code != inspectorDone || !strings.Contains(string(templates), `"file:///{+path}"`) {
		t.Errorf("templates: %d %s", code, templates)
	}
	content, code := inspect(t, mcptest.Modern, server("file-read", root), "resources/read", "--uri", "file://"+root+"/a.txt")
	if code != inspectorDone || !strings.Contains(string(content), `"text":"hello\n"`) {
		t.Errorf("content: %d %s", code, content)
	}
}
