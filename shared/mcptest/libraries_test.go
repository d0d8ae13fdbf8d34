package mcptest

import (
	"context"
	"fmt"
	"os"
	"testing"

	gomcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type greeting struct {
	Name string `json:"name"`
}

func (g greeting) text() string { return "hello " + g.Name }

func serveWithMCPGo() {
	s := server.NewMCPServer("mcpgo", "1", server.WithToolCapabilities(false))
	s.AddTool(gomcp.NewTool("greet", gomcp.WithString("name")), func(_ context.Context, r gomcp.CallToolRequest) (*gomcp.CallToolResult, error) {
		return gomcp.NewToolResultText(greeting{r.GetString("name", "")}.text()), nil
	})
	exitOn(server.ServeStdio(s))
}

func serveWithGoSDK() {
	s := sdk.NewServer(&sdk.Implementation{Name: "gosdk", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "greet"}, func(_ context.Context, _ *sdk.CallToolRequest, in greeting) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.text()}}}, nil, nil
	})
	exitOn(s.Run(context.Background(), &sdk.StdioTransport{}))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestBothErasAreUnderstoodByServersOfOthers(t *testing.T) {
	for _, binary := range []string{"mcpgo", "gosdk"} {
		for _, era := range Eras() {
			t.Run(binary+" "+era.String(), func(t *testing.T) {
				c := Options{Era: era}.Start(t, binary)
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
}
