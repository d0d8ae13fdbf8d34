// shell-exec is an MCP server that lets a client run commands. Every command is judged
// first (package policy), runs inside a sandbox that the kernel keeps (package sandbox),
// and is watched, limited and ended with all it started (package process); what it wrote
// is kept (package output).
package main

import (
	"context"
	"os"

	"github.com/multiollama/mcp-server/shared/command"
)

// version is set by the linker for a release.
var version = "devel"

func main() {
	os.Exit(command.Run(context.Background(), program(), os.Args[1:], command.Process()))
}
