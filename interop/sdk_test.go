package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// version is what the SDK calls an era.
func version(era mcptest.Era) string {
	if era == mcptest.Modern {
		return "2026-07-28"
	}
	return "2025-11-25"
}

// connect starts a server and connects to it with the Go SDK.
func connect(t *testing.T, era mcptest.Era, line []string, o mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &o)
	transport := &mcp.CommandTransport{Command: exec.Command(line[0], line[1:]...)}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version(era)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the server does not end well: %v", err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != version(era) {
		t.Fatalf("the server speaks %s, not %s", got, version(era))
	}
	return session
}

// calls are one of each tool of the standard vocabularies, in the order in which they
// are listed and called; what it leaves (name=content, where it leaves a file); and one
// that fails. $ROOT is the allowed directory, $CHANGE the last change that was answered.
var calls = map[string]struct{ good, leaves, bad string }{
	"file-read file_read":                {`{"path": "a.txt"}`, "", `{"path": "none"}`},
	"file-read read_multiple_files":      {`{"paths": ["a.txt", "none"]}`, "", `{"paths": []}`},
	"file-read list_directory":           {`{"dir_path": "."}`, "", `{"dir_path": "a.txt"}`},
	"file-read directory_tree":           {`{"path": "."}`, "", `{"path": ".."}`},
	"file-read find_files_by_pattern":    {`{"base_dir": ".", "pattern": "*.txt"}`, "", `{"base_dir": ".", "pattern": "["}`},
	"file-read search_content_in_files":  {`{"search_path": ".", "regex_pattern": "h.llo"}`, "", `{"search_path": ".", "regex_pattern": "("}`},
	"file-read get_file_info":            {`{"path": "$ROOT/a.txt"}`, "", `{"path": "/etc/passwd"}`},
	"file-read list_allowed_directories": {`{}`, "", `{"unknown": 1}`},

	"file-write copy_file":                {`{"source": "dir/b.txt", "destination": "n/b.txt"}`, "n/b.txt=b\n", `{"source": "dir/b.txt", "destination": "a.txt"}`},
	"file-write create_directory":         {`{"path": "n/m"}`, "", `{"path": "a.txt"}`},
	"file-write delete_file":              {`{"path": "n", "recursive": true}`, "", `{"path": "dir"}`},
	"file-write edit_file":                {`{"path": "a.txt", "old_string": "hello", "new_string": "bye"}`, "a.txt=bye\n", `{"path": "a.txt", "old_string": "hello", "new_string": "bye"}`},
	"file-write file_write":               {`{"path": "new.txt", "content": "new\n"}`, "new.txt=new\n", `{"path": "new.txt", "content": "new\n"}`},
	"file-write list_allowed_directories": {`{}`, "", `{"unknown": 1}`},
	"file-write list_changes":             {`{"since": "1h"}`, "", `{"since": "soon"}`},
	"file-write move_file":                {`{"source": "a.txt", "destination": "n/a.txt"}`, "n/a.txt=bye\n", `{"source": "none", "destination": "c.txt"}`},
	"shell-exec bash":                     {`{"command": "echo hi >a.txt"}`, "", `{"command": "sudo id"}`},
	"shell-exec delete_execution_outputs": {`{"output_ids": ["$EXECUTION"], "confirm": true}`, "", `{"output_ids": ["x"], "confirm": false}`},
	"shell-exec list_execution_outputs":   {`{}`, "", `{"limit": 0}`},
	"shell-exec process_get_execution":    {`{"execution_id": "$EXECUTION"}`, "", `{"execution_id": "none"}`},
	"shell-exec process_list":             {`{"status_filter": "running"}`, "", `{"status_filter": "dead"}`},
	"shell-exec process_terminate":        {`{"process_id": $PROCESS}`, "", `{"process_id": 1}`},
	"shell-exec read_execution_output":    {`{"output_id": "$OUTPUT"}`, "", `{"output_id": "none"}`},
	"shell-exec shell_exec":               {`{"command": "echo new >new.txt; exit 3"}`, "new.txt=new\n", `{"command": "rm -rf /"}`},
	"shell-exec shell_execute":            {`{"command": "echo hi"}`, "", `{"command": "echo hi", "execution_mode": "never"}`},

	"shell-exec monitoring_get_stats":      {`{}`, "", `{"include_metrics": ["weather"]}`},
	"shell-exec process_monitor":           {`{"process_id": $PROCESS}`, "", `{"process_id": 1}`},
	"shell-exec security_set_restrictions": {`{"max_execution_time": 60}`, "", `{"max_execution_time": 61}`},
	"shell-exec shell_set_default_workdir": {`{"working_directory": "$ROOT"}`, "", `{"working_directory": "/"}`},
	"shell-exec terminal_close":            {`{"terminal_id": "$CLOSED"}`, "", `{"terminal_id": "none"}`},
	"shell-exec terminal_create":           {`{"shell_type": "sh"}`, "", `{"shell_type": "cmd"}`},
	"shell-exec terminal_get_info":         {`{"terminal_id": "$OPEN"}`, "", `{"terminal_id": "none"}`},
	"shell-exec terminal_get_output":       {`{"terminal_id": "$OPEN", "screen": true}`, "", `{"terminal_id": "none"}`},
	"shell-exec terminal_list":             {`{}`, "", `{"limit": 0}`},
	"shell-exec terminal_resize":           {`{"terminal_id": "$OPEN", "dimensions": {"width": 100, "height": 20}}`, "", `{"terminal_id": "$OPEN", "dimensions": {"width": 0, "height": 20}}`},
	"shell-exec terminal_send_input":       {`{"terminal_id": "$OPEN", "input": "echo hi", "execute": true}`, "", `{"terminal_id": "$OPEN", "input": "rm -rf /", "execute": true}`},

	"file-write restore_file": {`{"change_id": "$CHANGE"}`, "a.txt=bye\n", `{"change_id": "none"}`},
}

func TestTheGoSDKCallsEveryTool(t *testing.T) {
	for _, offer := range offers {
		if offer.vocabulary != "standard" {
			continue
		}
		t.Run(offer.program, func(t *testing.T) {
			inBothEras(t, func(t *testing.T, era mcptest.Era) {
				root := mcptest.Tree(t, "a.txt=hello\n", "dir/b.txt=b\n")
				callAll(t, connect(t, era, offer.over(root), mcp.ClientOptions{}), offer, root)
			})
		})
	}
}

func callAll(t *testing.T, session *mcp.ClientSession, offer offer, root string) {
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != offer.tools {
		t.Errorf("%d tools are listed, not %d", len(list.Tools), offer.tools)
	}
	known := strings.NewReplacer(append(running(t, session, offer), "$ROOT", root)...)
	change := ""
	for _, tool := range list.Tools {
		call, ok := calls[offer.program+" "+tool.Name]
		if !ok {
			t.Errorf("no example of %s", tool.Name)
			continue
		}
		t.Run(tool.Name, func(t *testing.T) {
			good := known.Replace(strings.ReplaceAll(call.good, "$CHANGE", change))
			answer := obeys(t, session, tool, good, false)
			if name, content, _ := strings.Cut(call.leaves, "="); name != "" {
				holds(t, filepath.Join(root, name), content)
			}
			for _, key := range []string{"changeId", "trashId"} {
				if id, told := answer[key].(string); told {
					change = id
				}
			}
			obeys(t, session, tool, call.bad, true)
		})
	}
}

// running starts a command and two terminals where the offer can, and is the names of
// what tells of them.
func running(t *testing.T, session *mcp.ClientSession, offer offer) []string {
	if offer != shellOffer {
		return nil
	}
	told := begun(t, session, "shell_execute", `{"command": "echo hi; sleep 60", "execution_mode": "background"}`)
	open, closed := begun(t, session, "terminal_create", `{}`), begun(t, session, "terminal_create", `{}`)
	return []string{
		"$EXECUTION", fmt.Sprint(told["execution_id"]), "$PROCESS", fmt.Sprintf("%.0f", told["process_id"]), "$OUTPUT", fmt.Sprint(told["output_id"]),
		"$OPEN", fmt.Sprint(open["terminal_id"]), "$CLOSED", fmt.Sprint(closed["terminal_id"]),
	}
}

func begun(t *testing.T, session *mcp.ClientSession, tool, arguments string) map[string]any {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	told, _ := r.StructuredContent.(map[string]any)
	return told
}

func holds(t *testing.T, path, content string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != content {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, content)
	}
}

// obeys calls a tool and holds the result against the tool's output schema.
func obeys(t *testing.T, session *mcp.ClientSession, tool *mcp.Tool, arguments string, fails bool) map[string]any {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	if r.IsError != fails {
		t.Errorf("%s: an error is %t: %v", arguments, r.IsError, r.StructuredContent)
	}
	if _, ok := r.Content[0].(*mcp.TextContent); !ok {
		t.Errorf("%s: the first content is %T", arguments, r.Content[0])
	}
	if err := validate(tool.OutputSchema, r.StructuredContent); err != nil {
		t.Errorf("%s: %v", arguments, err)
	}
	structured, _ := r.StructuredContent.(map[string]any)
	return structured
}

func validate(schema, value any) error {
	c := jsonschema.NewCompiler()
	if err := c.AddResource("output.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("output.json")
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func TestTheGoSDKReadsAResource(t *testing.T) {
	root := mcptest.Tree(t, "a b.txt=hello\n")
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		session := connect(t, era, server("file-read", root), mcp.ClientOptions{})
		templates, err := session.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 {
			t.Fatalf("templates: %v %v", templates, err)
		}
		r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file://" + root + "/a%20b.txt"})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Contents) != 1 || r.Contents[0].Text != "hello\n" {
			t.Errorf("contents are %v", r.Contents)
		}
		_, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file://" + root + "/none"})
		if err == nil {
			t.Error("a file that is not there is read")
		}
	})
}

func TestTheGoSDKCompletesAPath(t *testing.T) {
	root := mcptest.Tree(t, "alpha.txt=", "alps/", "beta=")
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		session := connect(t, era, server("file-read", root), mcp.ClientOptions{})
		prefix := strings.TrimPrefix(root, "/")
		r, err := session.Complete(t.Context(), &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "file:///{+path}"},
			Argument: mcp.CompleteParamsArgument{Name: "path", Value: prefix + "/al"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{prefix + "/alpha.txt", prefix + "/alps/"}; !slices.Equal(r.Completion.Values, want) {
			t.Errorf("completions are %v, not %v", r.Completion.Values, want)
		}
	})
}

// manyFiles is a directory whose search is not over by the time that the first
// news of its progress is answered.
func manyFiles(t *testing.T) string {
	root := mcptest.Tree(t, "0000.txt="+strings.Repeat("nothing to see in this line\n", 2000))
	for i := range 5000 {
		if err := os.Link(filepath.Join(root, "0000.txt"), filepath.Join(root, fmt.Sprintf("%04d.txt", 1+i))); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func search(token any) *mcp.CallToolParams {
	p := &mcp.CallToolParams{Name: "search_content_in_files", Arguments: map[string]any{"search_path": ".", "regex_pattern": "(s|e)+e.*l[a-z]+x", "recursive": true}}
	if token != nil {
		p.SetProgressToken(token)
	}
	return p
}

func TestTheGoSDKIsToldOfProgress(t *testing.T) {
	root := manyFiles(t)
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		var mu sync.Mutex
		var seen []float64
		session := connect(t, era, server("file-read", root), mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				if r.Params.ProgressToken != "mine" {
					t.Errorf("the token is %v", r.Params.ProgressToken)
				}
				seen = append(seen, r.Params.Progress)
			},
		})
		if r, err := session.CallTool(t.Context(), search("mine")); err != nil || r.IsError {
			t.Fatal(r, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(seen) == 0 || !slices.IsSorted(seen) {
			t.Errorf("progress was %v", seen)
		}
	})
}

func TestTheGoSDKCancelsACall(t *testing.T) {
	root := manyFiles(t)
	inBothEras(t, func(t *testing.T, era mcptest.Era) {
		log := filepath.Join(t.TempDir(), "audit.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		t.Run("session", func(t *testing.T) {
			session := connect(t, era, server("file-read", root, "--audit-log", log), mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { cancel() },
			})
			if _, err := session.CallTool(ctx, search(1)); err == nil {
				t.Error("the call was not cancelled")
			}
			if _, err := session.ListTools(t.Context(), nil); err != nil {
				t.Errorf("the server does not live on: %v", err)
			}
		})
		if outcome := lastEvent(t, log).Outcome; outcome == "ok" || outcome == "" {
			t.Errorf("the server went on with the search: its outcome is %q", outcome)
		}
	})
}

// event is what an audit log says of a call.
type event struct{ Session, Client, Outcome string }

// lastEvent is the last one in an audit log.
func lastEvent(t *testing.T, file string) (e event) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		t.Fatal(err)
	}
	return e
}
