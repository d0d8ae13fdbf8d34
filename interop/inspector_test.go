package interop

import (
	"encoding/json"
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

func TestTheInspectorFindsNoFaultInAnyToolList(t *testing.T) {
	root := mcptest.Tree(t, "a.txt=hello\n")
	for _, vocabulary := range []string{"standard", "local-file", "agent", "filesystem"} {
		t.Run(vocabulary, func(t *testing.T) {
			inBothEras(t, func(t *testing.T, era mcptest.Era) {
				result, code := inspect(t, era, server("file-read", root, "--vocabulary", vocabulary), "tools/list", "--strict")
				if code != inspectorDone {
					t.Errorf("it ended with %d: its words are in the log", code)
				}
				if n := strings.Count(string(result), `"inputSchema"`); n < 4 {
					t.Errorf("it saw %d tools: %s", n, result)
				}
			})
		})
	}
}

func TestTheInspectorCallsATool(t *testing.T) {
	root := mcptest.Tree(t, "a.txt=hello\n", "link => a.txt")
	tests := []struct {
		name, path, text string
		code             int
	}{
		{"a file is read", "a.txt", "hello", inspectorDone},
		{"a link is an error of the tool's", "link", "SECURITY_003", inspectorToolError},
		{"so is what is outside", "/etc/passwd", "SECURITY_002", inspectorToolError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBothEras(t, func(t *testing.T, era mcptest.Era) {
				result, code := inspect(t, era, server("file-read", root), "tools/call", "--tool-name", "file_read", "--tool-arg", "path="+tt.path)
				var r struct{ Content []mcptest.Block }
				if err := json.Unmarshal(result, &r); err != nil {
					t.Fatal(err)
				}
				if code != tt.code || len(r.Content) == 0 || !strings.HasPrefix(r.Content[0].Text, tt.text) {
					t.Errorf("it ended with %d and %s", code, result)
				}
			})
		})
	}
}

func TestTheInspectorReadsResources(t *testing.T) {
	root := mcptest.Tree(t, "a.txt=hello\n")
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		templates, code := inspect(t, era, server("file-read", root), "resources/templates/list")
		if code != inspectorDone || !strings.Contains(string(templates), `"file:///{+path}"`) {
			t.Errorf("templates: %d %s", code, templates)
		}
		content, code := inspect(t, era, server("file-read", root), "resources/read", "--uri", "file://"+root+"/a.txt")
		if code != inspectorDone || !strings.Contains(string(content), `"text":"hello\n"`) {
			t.Errorf("content: %d %s", code, content)
		}
	})
}

func TestTheInspectorNamesAreOurs(t *testing.T) {
	root := mcptest.Tree(t, "a.txt=hello\n")
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		result, _ := inspect(t, era, server("file-read", root), "tools/list")
		var list struct{ Tools []mcptest.Tool }
		if err := json.Unmarshal(result, &list); err != nil {
			t.Fatal(err)
		}
		command := server("file-read", root)
		own := mcptest.Options{Era: era}.Start(t, command[0], command[1:]...)
		if !slices.Equal(names(list.Tools), names(own.Tools())) {
			t.Errorf("it sees %v, our own client %v", names(list.Tools), names(own.Tools()))
		}
	})
}

func names(tools []mcptest.Tool) []string {
	var all []string
	for _, tool := range tools {
		all = append(all, tool.Name)
	}
	return all
}
