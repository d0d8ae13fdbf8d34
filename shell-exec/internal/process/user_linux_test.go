package process_test

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestAsAnOrdinaryUser(t *testing.T) {
	mcptest.AsOrdinaryUser(t, "CanBeWatched|EndsAJobWithAllOfIt|CommandLeftBehind")
}
