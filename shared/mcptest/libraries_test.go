package mcptest

import (
	"context"
	"fmt"
	"os"
	"testing"

	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type greeting struct {
	Name string `json:"name"`
}

func serveWithMCPGo() {
	s := server.NewMCPServer("mcpgo", "1", server.WithToolCapabilities(false))
	s.AddTool(gomcp.NewTool("greet", gomcp.WithString("name")), func(_ context.Context, r gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText("hello " + r.GetString("name", "")), nil
	})
	exitOn(server.ServeStdio(s))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestBothErasAreUnderstoodByServersOfMCPGo(t *testing.T) {
	for _, era := range Eras() {
		t.Run(era.String(), func(t *testing.T) {
			c := Options{Era: era}.Start(t, "mcpgo")
			if len(c.Server()) == 0 {
				t.Error("the server told nothing of itself")
			}
			if tools := c.Tools(); len(tools) != 1 || tools[0].Name != "greet" {
				t.Errorf("tools are %v", tools)
			}
			if r := c.Call("greet", greeting{"you"}); r.Text != "hello you" {
				t.Errorf("the call gave %q %s", r.Text, r.Raw)
			}
		})
	}
}
