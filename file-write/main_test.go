package main

import (
	"regexp"
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m, "file-write", main) }

func TestScripts(t *testing.T) { mcptest.Scripts(t, "testdata/script") }

func TestTheWireIsAsTheStoriesTell(t *testing.T) {
	mcptest.Sessions(t, "testdata/wire",
		mcptest.Varying{Name: "CHANGE", In: regexp.MustCompile(`"changeId":"([^"]+)`)},
		mcptest.Varying{Name: "TRASH", In: regexp.MustCompile(`"trashId":"([^"]+)|in the trash as (\w+)`)},
	)
}
