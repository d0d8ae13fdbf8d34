package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m, "web-fetch", main) }
