package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

// calls has a success and a failure for every tool of every vocabulary, in the order in
// which they are made. $ID, $PID and $OUTPUT are of the execution that is begun.
var calls = map[string][]struct{ tool, good, bad string }{
	"standard": {
		{"shell_exec", `{"command":"printf","args":["%s","hi"]}`, `{"command":"rm -rf /"}`},
		{"shell_execute", `{"command":"echo begun; sleep 600","execution_mode":"background","session_id":"s","environment_variables":{"X":"1"}}`, `{"command":"true","execution_mode":"soon"}`},
		{"process_get_execution", `{"execution_id":"$ID","wait_seconds":1}`, `{"execution_id":"exec_none"}`},
		{"process_list", `{"session_id":"s"}`, `{"limit":0}`},
		{"process_terminate", `{"process_id":$PID}`, `{"process_id":1}`},
		{"list_execution_outputs", `{"execution_id":"$ID"}`, `{"output_type":"colour"}`},
		{"read_execution_output", `{"output_id":"$OUTPUT"}`, `{"output_id":"none"}`},
		{"delete_execution_outputs", `{"output_ids":["$OUTPUT","none"],"confirm":true}`, `{"output_ids":["$OUTPUT"],"confirm":false}`},
	},
	"agent": {{"bash", `{"command":"echo hi"}`, `{"command":"eval id"}`}},
}

func TestEverySuccessAndEveryFailureObeysItsSchema(t *testing.T) {
	for _, era := range mcptest.Eras() {
		for name, rows := range calls {
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
				}
			}
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
