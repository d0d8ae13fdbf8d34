package toolkit

import (
	"context"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheGoSDKAsksItsPerson(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for says, want := range map[string]bool{"accept": true, "decline": false} {
			t.Run(version+" "+says, func(t *testing.T) {
				questions := 0
				session := connectSDK(t, version, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					questions++
					if says == "accept" {
						return &sdk.ElicitResult{Action: says, Content: map[string]any{agreeField: true}}, nil
					}
					return &sdk.ElicitResult{Action: says}, nil
				})
				r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "do", Arguments: map[string]any{"what": "x", "also": []string{"x"}}})
				if err != nil {
					t.Fatal(err)
				}
				if r.IsError == want || questions != 1 {
					t.Errorf("%v after %d questions", r.StructuredContent, questions)
				}
			})
		}
	}
}

func connectSDK(t *testing.T, version string, answer func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: answer})
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: exec.Command("asker")}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("it speaks %s", got)
	}
	return session
}
