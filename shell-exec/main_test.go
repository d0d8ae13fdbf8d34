package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Helper()
	mcptest.Main(m, "shell-exec", main)
}

func TestScripts(t *testing.T) { mcptest.Scripts(t, "testdata/script") }
