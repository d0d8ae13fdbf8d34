package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"host": main, "greeter": greeter})
}

func TestScripts(t *testing.T) { mcptest.Scripts(t, "testdata") }

// greeter is a server with a tool for everything that the host has to show.
func greeter() {
	s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0"}, nil)
	add(s, "greet", "Says hello. Twice if asked to.", &mcp.ToolAnnotations{ReadOnlyHint: true}, greet)
	add(s, "refuse", "Always fails.", &mcp.ToolAnnotations{}, refuse)
	add(s, "evil", "Tries to clear the screen.", nil, evil)
	add(s, "many", "Answers in many lines and kinds.", &mcp.ToolAnnotations{DestructiveHint: new(bool)}, many)
	add(s, "confirm", "Asks the person.", nil, confirm)
	add(s, "count", "Reports progress.", nil, count)
	fmt.Fprintln(os.Stderr, "greeter is up \x1b[2J")
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type nameIn struct {
	Name string `json:"name,omitempty"`
}

type handler = func(context.Context, *mcp.CallToolRequest, nameIn) (*mcp.CallToolResult, any, error)

func add(s *mcp.Server, name, doc string, a *mcp.ToolAnnotations, h handler) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: doc, Annotations: a}, h)
}

func say(text string) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func greet(_ context.Context, _ *mcp.CallToolRequest, in nameIn) (*mcp.CallToolResult, any, error) {
	return say("hello " + in.Name + os.Getenv("GREETING"))
}

func refuse(context.Context, *mcp.CallToolRequest, nameIn) (*mcp.CallToolResult, any, error) {
	r, _, _ := say("SECURITY_002: that is outside. Stay inside.")
	r.IsError = true
	return r, nil, nil
}

func evil(context.Context, *mcp.CallToolRequest, nameIn) (*mcp.CallToolResult, any, error) {
	return say("a\tb \x1b[2J \u202e end\r")
}

func many(context.Context, *mcp.CallToolRequest, nameIn) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "1\n2\n3\n"},
		&mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
		&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("1")},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///x", MIMEType: "text/plain", Text: "abc"}},
		&mcp.ResourceLink{URI: "file:///y", Name: "y"},
	}}, nil, nil
}

// confirm asks as both eras allow: a result that needs input where there is no
// session, a request of its own where there is one.
func confirm(ctx context.Context, r *mcp.CallToolRequest, _ nameIn) (*mcp.CallToolResult, any, error) {
	if answer, ok := r.Params.InputResponses["ok"].(*mcp.ElicitResult); ok {
		return say("the person chose to " + answer.Action)
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"ok": &mcp.ElicitParams{
		Mode: "form", Message: "Delete\u202e everything?",
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"sure": map[string]any{"type": "boolean"}}},
	}}}, nil, nil
}

func count(ctx context.Context, r *mcp.CallToolRequest, _ nameIn) (*mcp.CallToolResult, any, error) {
	err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half",
	})
	if err != nil {
		return nil, nil, err
	}
	return say("done")
}
