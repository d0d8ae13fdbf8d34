package filewrite

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestPureRoomsTouchMemoryOnly(t *testing.T) {
	mcptest.Imports(t, mcptest.Pure("internal/edit/*.go internal/diff/*.go internal/executable/*.go internal/protected/*.go internal/spelling/*.go"))
}
