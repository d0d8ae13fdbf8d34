// web-fetch is an MCP server that fetches public web pages and answers them as Markdown.
// It refuses to connect to anything that is not public (package dial), and at start it
// gives up files and programs (package restrict).
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
