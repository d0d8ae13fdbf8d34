package main

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m, "memory", main) }

func TestScripts(t *testing.T) { mcptest.Scripts(t, "testdata/script") }
