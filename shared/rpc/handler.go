package rpc

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Handler is what a server does with messages. What its sessions stand for is said by each
// transport.
type Handler interface {
	HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage
	RegisterSession(ctx context.Context, session server.ClientSession) error
	UnregisterSession(ctx context.Context, sessionID string)
	WithContext(ctx context.Context, session server.ClientSession) context.Context
}
