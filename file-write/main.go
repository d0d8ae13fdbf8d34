// file-write is an MCP server that lets a client create, overwrite, edit, move and
// copy files in the directories it was given. What is replaced or removed is kept
// first (package history); what could run code is refused (package guard); and every
// change happens in one step or not at all (package replace).
package main

import (
	"context"
	"os"

	"github.com/multiollama/mcp-server/shared/command"
)

// version is set by the linker for a release; where it is empty, the build is asked.
var version string

func main() {
	os.Exit(command.Run(context.Background(), program(), os.Args[1:], command.Process()))
}
