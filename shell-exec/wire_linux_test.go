package main

import (
	"regexp"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestTheWireIsAsTheStoriesTell(t *testing.T) {
	mcptest.Sessions(t, "testdata/wire",
		mcptest.Varying{Name: "EXECUTION", In: regexp.MustCompile(`"execution_id":"([^"]+)"|execution_id (exec_\w+)`)},
		mcptest.Varying{Name: "OUTPUT", In: regexp.MustCompile(`"output_id":"([^"]+)"`)},
		mcptest.Varying{Name: "PID", In: regexp.MustCompile(`"process_id":(\d+)`)},
		mcptest.Varying{Name: "N", In: regexp.MustCompile(`"(?:execution_time_ms|memory_usage_mb|cpu_usage_percent|process_count)":([0-9.e+-]+)`), Alike: true},
	)
}
