package command_test

import (
	"path/filepath"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestEventsAreSentOnAlsoWhereNoFileIsKept(t *testing.T) {
	journal := mcptest.Listen(t, filepath.Join(t.TempDir(), "journal"))
	w := newWorld(t)
	for _, log := range []string{"auto", "stderr", "off"} {
		w.must(t, 0, "call", "greet", "name=Ada", "--audit-log", log, "--audit-also", "journald:"+journal.Path)
		contains(t, log, string(journal.Next()), "MCP_TOOL=greet\n", `"outcome":"ok"`)
	}
	contains(t, "doctor", w.must(t, 0, "doctor", "--host", "none", "--audit-also", "journald:"+journal.Path).out, "ok    audit copy    goes to journald:")
}
