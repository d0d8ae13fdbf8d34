package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// message is one JSON-RPC message on its way through mcp-go.
type message struct {
	id, method, name, uri json.RawMessage
	args                  json.RawMessage // taken out of the message, see detach
	err                   error           // what mcp-go answered with, before it became text
}

type messageKey struct{}

func messageFrom(ctx context.Context) *message {
	m, _ := ctx.Value(messageKey{}).(*message)
	return m
}

// HandleMessage answers one JSON-RPC message of either protocol era, nil for a
// notification. Errors of resources carry data.uri and -32602, an unknown tool
// is told with the nearest one, and nothing panics.
func (s *Server) HandleMessage(ctx context.Context, raw json.RawMessage) (answer mcp.JSONRPCMessage) {
	m, raw := detach(raw)
	defer func() {
		if r := recover(); r != nil {
			s.config.Log.Error("a message met a fault of the server", "cause", fmt.Sprint(r), "stack", string(debug.Stack()))
			answer = m.crashed()
		}
	}()
	answer = s.mcp.HandleMessage(context.WithValue(ctx, messageKey{}, m), raw)
	return s.reword(ctx, m, answer)
}

// detach takes the arguments of a tool call out of a message and leaves {}.
// mcp-go decodes a message five times over and answers an argument of 1e400
// with a protocol error that no model sees; our decoder reads it once. Members
// that stand twice stay where they are: mcp-go then decides which one counts.
func detach(raw json.RawMessage) (*message, json.RawMessage) {
	m := &message{}
	var params, args span
	each(raw, span{0, len(raw)}, func(key string, v span) {
		switch key {
		case "id":
			m.id = v.of(raw)
		case "method":
			m.method = v.of(raw)
		case "params":
			params = v.once(params)
		}
	})
	each(raw, params, func(key string, v span) {
		switch key {
		case "name":
			m.name = v.of(raw)
		case "uri":
			m.uri = v.of(raw)
		case "arguments":
			args = v.once(args)
		}
	})
	if string(m.method) != `"tools/call"` || args.empty() {
		return m, raw
	}
	m.args = args.of(raw)
	return m, bytes.Join([][]byte{raw[:args.from], []byte("{}"), raw[args.to:]}, nil)
}

// arguments are the bytes that the client sent.
func arguments(ctx context.Context, r mcp.CallToolRequest) json.RawMessage {
	switch m := messageFrom(ctx); {
	case m != nil && m.args != nil:
		return m.args
	case len(r.Params.RawArguments) > 0:
		return r.Params.RawArguments
	case r.Params.Arguments != nil:
		return rawArguments(r.Params.Arguments)
	}
	return nil
}

// rawArguments encodes arguments that never were bytes, as of a client in the
// same process.
func rawArguments(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// noteErrors keeps the error behind a protocol error where HandleMessage finds
// it; mcp-go only sends its text.
func (s *Server) noteErrors() *server.Hooks {
	h := &server.Hooks{}
	h.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		if m := messageFrom(ctx); m != nil {
			m.err = err
		}
		s.traceError(ctx, err)
	})
	return h
}

// reword replaces the protocol errors that mcp-go leaves without data.
func (s *Server) reword(ctx context.Context, m *message, answer mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	said, ok := answer.(mcp.JSONRPCError)
	if !ok || m.err == nil {
		return answer
	}
	known, isFault := errors.AsType[*fault.Error](m.err)
	_, shapeless := errors.AsType[*server.UnparsableMessageError](m.err)
	switch {
	case shapeless:
		known = fault.New(fault.ParamMalformed, "the parameters of "+plainText(m.method)+" are not of the form that the protocol gives them", "Send them as an object, with a value of the right type for each")
		return protocolError(said.ID, known, map[string]any{"code": known.Code})
	case errors.Is(m.err, server.ErrToolNotFound):
		return s.noTool(ctx, m, said.ID)
	case errors.Is(m.err, server.ErrResourceNotFound):
		uri := plainText(m.uri)
		return resourceError(said.ID, uri, fault.New(fault.NotFound, "there is no resource "+quote(uri), "Use resources/templates/list to see what there is"))
	case isFault && m.uri != nil:
		return resourceError(said.ID, plainText(m.uri), known)
	case isFault:
		return protocolError(said.ID, known, map[string]any{"code": known.Code})
	}
	return answer
}

func (s *Server) noTool(ctx context.Context, m *message, id mcp.RequestId) mcp.JSONRPCMessage {
	name := plainText(m.name)
	s.refuseUnknown(ctx, name, m.args)
	err := s.config.Vocabulary.absent(name)
	data := map[string]any{"code": err.Code}
	for key, value := range err.Details {
		data[key] = value
	}
	return protocolError(id, err, data)
}

// resourceError is a failed resources/read as 2026-07-28 wants it, in both
// eras: -32602 and the URI in data.
func resourceError(id mcp.RequestId, uri string, err *fault.Error) mcp.JSONRPCError {
	return protocolError(id, err, map[string]any{"uri": uri, "code": err.Code})
}

func protocolError(id mcp.RequestId, err *fault.Error, data map[string]any) mcp.JSONRPCError {
	code := mcp.INVALID_PARAMS
	switch err.Code.Category() {
	case "SYSTEM", "EXECUTION":
		code = mcp.INTERNAL_ERROR
	}
	return mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      id,
		Error:   mcp.NewJSONRPCErrorDetails(code, err.Sentence(), data),
	}
}

// crashed is the answer when mcp-go itself panicked.
func (m *message) crashed() mcp.JSONRPCMessage {
	if m.id == nil {
		return nil
	}
	var id mcp.RequestId
	_ = id.UnmarshalJSON(m.id)
	return mcp.JSONRPCError{
		JSONRPC: mcp.JSONRPC_VERSION,
		ID:      id,
		Error:   mcp.NewJSONRPCErrorDetails(mcp.INTERNAL_ERROR, "the server met a fault of its own", nil),
	}
}

// plainText is the text of a JSON string, or "" of anything else.
func plainText(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
