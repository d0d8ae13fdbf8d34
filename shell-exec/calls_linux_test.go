package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// row is a success and a failure of a tool.
type row struct{ tool, good, bad string }

// calls has one for every tool (those of shell-server are in standard), in the order in which they are made.
// $ID, $PID and $OUTPUT are of the execution that is begun, $TERM of the terminal.
var calls = map[string][]row{
	"standard": append([]row{{"shell_exec", `{"command":"printf","args":["%s","hi"]}`, `{"command":"rm -rf /"}`}}, renaming...),
	"agent":    {{"bash", `{"command":"echo hi"}`, `{"command":"eval id"}`}},

	"shell-server-2.0": {
		{"shell_execute", `{"command":"sleep 600","execution_mode":"async","session_id":"s"}`, `{"command":"true","execution_mode":"detached"}`},
		{"shell_get_execution", `{"execution_id":"$ID"}`, `{"execution_id":"exec_none"}`},
		{"process_list", `{"session_id":"s"}`, `{"limit":0}`},
		{"process_monitor", `{"process_id":$PID}`, `{"process_id":1}`},
		{"process_kill", `{"process_id":$PID,"signal":"INT"}`, `{"process_id":1}`},
		{"file_list", `{"execution_id":"$ID","file_type":"output"}`, `{"file_type":"colour"}`},
		{"file_read", `{"file_id":"$OUTPUT"}`, `{"file_id":"none"}`},
		{"file_delete", `{"file_ids":["$OUTPUT","none"],"confirm":true}`, `{"file_ids":["$OUTPUT"],"confirm":false}`},
		{"terminal_create", `{"session_name":"t","shell_type":"bash"}`, `{"shell_type":"cmd"}`},
		{"terminal_list", `{}`, `{"status_filter":"new"}`},
		{"terminal_get", `{"terminal_id":"$TERM"}`, `{"terminal_id":"none"}`},
		{"terminal_input", `{"terminal_id":"$TERM","input":"echo hi","execute":true}`, `{"terminal_id":"$TERM","input":"rm -rf /","execute":true}`},
		{"terminal_output", `{"terminal_id":"$TERM"}`, `{"terminal_id":"none"}`},
		{"terminal_resize", `{"terminal_id":"$TERM","dimensions":{"width":80,"height":24}}`, `{"terminal_id":"$TERM","dimensions":{"width":0,"height":24}}`},
		{"terminal_close", `{"terminal_id":"$TERM"}`, `{"terminal_id":"none"}`},
		{"security_set_restrictions", `{"max_execution_time":5}`, `{"max_execution_time":6}`},
		{"monitoring_get_stats", `{}`, `{"include_metrics":["weather"]}`},
	},
}

// renaming is the tools of document 003.
var renaming = []row{
	{"shell_execute", `{"command":"echo begun; sleep 600","execution_mode":"background","session_id":"s","environment_variables":{"X":"1"}}`, `{"command":"true","execution_mode":"soon"}`},
	{"shell_set_default_workdir", `{"working_directory":"."}`, `{"working_directory":"/"}`},
	{"process_monitor", `{"process_id":$PID,"include_metrics":["cpu","io"]}`, `{"process_id":$PID,"monitor_interval_ms":99}`},
	{"process_get_execution", `{"execution_id":"$ID","wait_seconds":1}`, `{"execution_id":"exec_none"}`},
	{"process_list", `{"session_id":"s"}`, `{"limit":0}`},
	{"process_terminate", `{"process_id":$PID}`, `{"process_id":1}`},
	{"list_execution_outputs", `{"execution_id":"$ID"}`, `{"output_type":"colour"}`},
	{"read_execution_output", `{"output_id":"$OUTPUT"}`, `{"output_id":"none"}`},
	{"delete_execution_outputs", `{"output_ids":["$OUTPUT","none"],"confirm":true}`, `{"output_ids":["$OUTPUT"],"confirm":false}`},
	{"terminal_create", `{"session_name":"t","shell_type":"sh","dimensions":{"width":80,"height":24}}`, `{"shell_type":"powershell"}`},
	{"terminal_list", `{"session_name_pattern":"t*"}`, `{"status_filter":"new"}`},
	{"terminal_get_info", `{"terminal_id":"$TERM"}`, `{"terminal_id":"none"}`},
	{"terminal_send_input", `{"terminal_id":"$TERM","input":"echo hi","keys":["Enter"],"send_to":"sessionleader:"}`, `{"terminal_id":"$TERM","input":"x","send_to":"vim"}`},
	{"terminal_get_output", `{"terminal_id":"$TERM","include_foreground_process":true,"wait_for":{"quiet_ms":100}}`, `{"terminal_id":"$TERM","wait_for":{"pattern":"("}}`},
	{"terminal_resize", `{"terminal_id":"$TERM","dimensions":{"width":80,"height":24}}`, `{"terminal_id":"$TERM","dimensions":{"width":80,"height":501}}`},
	{"terminal_close", `{"terminal_id":"$TERM"}`, `{"terminal_id":"none"}`},
	{"security_set_restrictions", `{"security_mode":"custom","blocked_commands":["git push"]}`, `{"enable_network":true,"max_memory_mb":32768}`},
	{"monitoring_get_stats", `{"time_range_minutes":5}`, `{"include_metrics":["weather"]}`},
}

func TestEverySuccessAndEveryFailureObeysItsSchema(t *testing.T) {
	for _, era := range mcptest.Eras() {
		for name, rows := range calls {
			t.Run(fmt.Sprint(name, " ", era), func(t *testing.T) {
				t.Parallel()
				c := newHouse(t).startAs(mcptest.Options{Era: era}, "--vocabulary", name)
				tools := map[string]mcptest.Tool{}
				for _, tool := range c.Tools() {
					mcptest.Schema(t, tool.InputSchema)
					tools[tool.Name] = tool
				}
				if len(tools) != len(rows) {
					t.Errorf("%s has %d tools, the table %d", name, len(tools), len(rows))
				}
				words := strings.NewReplacer()
				for _, row := range rows {
					obeys := mcptest.Schema(t, tools[row.tool].OutputSchema)
					for i, args := range []string{row.good, row.bad} {
						r := c.Call(row.tool, words.Replace(args))
						if r.IsError != (i == 1) {
							t.Errorf("%s of %s with %s: isError is %t: %s", row.tool, name, args, r.IsError, r.Text)
						}
						if err := obeys(r.Structured); err != nil {
							t.Errorf("%s of %s with %s: %v", row.tool, name, args, err)
						}
						var e execution
						if row.tool == "shell_execute" && r.Decode(&e) == nil && e.ID != "" {
							words = strings.NewReplacer("$ID", e.ID, "$PID", strconv.Itoa(e.PID), "$OUTPUT", e.OutputID)
						}
						if row.tool == "terminal_create" && r.Decode(&e) == nil && e.Terminal != "" {
							words = strings.NewReplacer("$TERM", e.Terminal)
						}
					}
				}
			})
		}
	}
}

// page is what read_execution_output answers.
type page struct {
	Content   string `json:"content"`
	Total     int64  `json:"total_size"`
	Truncated bool   `json:"is_truncated"`
	Next      int64  `json:"next_offset"`
}

func TestWhatAnAnswerLeavesOutIsReadPageByPage(t *testing.T) {
	h := newHouse(t)
	c := h.start()
	e := h.call(c, "shell_execute", map[string]any{"command": "seq -f 'é%g' 1 3000", "max_output_size": 1024})
	if !e.Truncated || len(e.Stdout) > 2048 {
		t.Fatalf("%d bytes are answered, truncated %t", len(e.Stdout), e.Truncated)
	}
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&want, "é%d\n", i+1)
	}
	for _, encoding := range []string{"utf-8", "base64"} {
		var all strings.Builder
		pages := 0
		for p := (page{Truncated: true}); p.Truncated; pages++ {
			r := c.Call("read_execution_output", map[string]any{"output_id": e.OutputID, "offset": p.Next, "size": 4001, "encoding": encoding})
			if p = (page{}); r.IsError || r.Decode(&p) != nil || p.Truncated && p.Next <= int64(all.Len()) {
				t.Fatalf("page %d: %s", pages, r.Text)
			}
			content := []byte(p.Content)
			if encoding == "base64" {
				var err error
				if content, err = base64.StdEncoding.DecodeString(p.Content); err != nil {
					t.Fatal(err)
				}
			}
			all.Write(content)
		}
		if all.String() != want.String() || pages < 5 {
			t.Errorf("%s: %d pages have %d bytes, not the %d that were written", encoding, pages, all.Len(), want.Len())
		}
	}
	if r := c.Call("delete_execution_outputs", map[string]any{"output_ids": []string{e.OutputID}, "confirm": true}); r.IsError {
		t.Error(r.Text)
	}
	if r := c.Call("read_execution_output", map[string]any{"output_id": e.OutputID}); r.Code != "RESOURCE_003" {
		t.Errorf("what was deleted is read: %s", r.Text)
	}
}
