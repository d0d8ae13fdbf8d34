// file-read is an MCP server that lets a client read, list, find and search files
// under the directories it was given, and nothing more: no line of it writes
// (policy_test.go), and at start it gives up the right to (package restrict).
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
