// Command loop is what a server is without a transport of its own: two tools on
// mcp-go's ServeStdio, answering text only. It confines nothing, records nothing
// and syncs nothing, so that what is measured beside it is the library's loop.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("loop", "1", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("file_read", mcp.WithString("path", mcp.Required())), read)
	s.AddTool(mcp.NewTool("file_write", mcp.WithString("path", mcp.Required()), mcp.WithString("content", mcp.Required())), write)
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func read(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	content, err := os.ReadFile(r.GetString("path", ""))
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(string(content)), nil
}

func write(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	content := r.GetString("content", "")
	if err := os.WriteFile(r.GetString("path", ""), []byte(content), 0o644); err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(fmt.Sprint(len(content), " bytes")), nil
}
