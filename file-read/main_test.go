package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m, "file-read", main) }

func TestScripts(t *testing.T) { mcptest.Scripts(t, "testdata/script") }

func TestTheWireIsAsTheStoriesTell(t *testing.T) {
	mcptest.Sessions(t, "testdata/wire")
}
