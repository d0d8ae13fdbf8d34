// memory is an MCP server that remembers what a model is told, and finds it again by
// its words, Japanese and English. Memories lie in one file of the user's own (package
// store); what is told to be remembered is on the disk. It can touch nothing else:
// it starts no program, opens no connection and no other file.
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
