// shell-exec is an MCP server that lets a client run commands. Every command is checked
// first (package policy), runs inside a sandbox that the kernel enforces (package sandbox),
// and is watched, limited and terminated with all it started (package process); package
// output stores what it wrote.
package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shell-exec/internal/sandbox"
)

// version is set by the linker for a release; where it is empty, the build is asked.
var version string

func main() {
	sandbox.Helper()
	if os.Getenv("GOGC") == "" {
		// A flood of output should leave the memory to commands; less costs them time, and
		// the start, which nothing floods.
		time.AfterFunc(time.Second, func() { debug.SetGCPercent(80) })
	}
	os.Exit(command.Run(context.Background(), program(), os.Args[1:], command.Process()))
}
