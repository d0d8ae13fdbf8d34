package toolkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/mark3labs/mcp-go/tracing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
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
// is refused with the nearest one, and nothing panics.
func (s *Server) HandleMessage(ctx context.Context, raw json.RawMessage) (answer mcp.JSONRPCMessage) {
	m, raw := detach(raw)
	defer func() {
		r := recover() // of mcp-go itself
		if r == nil {
			return
		}
		s.config.Log.Error("a message met a fault of the server", "cause", fmt.Sprint(r), "stack", string(debug.Stack()))
		if answer = nil; m.id != nil {
			var id mcp.RequestId
			_ = id.UnmarshalJSON(m.id)
			details := mcp.NewJSONRPCErrorDetails(mcp.INTERNAL_ERROR, "the server met a fault of its own", nil)
			answer = mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: details}
		}
	}()
	answer = s.mcp.HandleMessage(context.WithValue(ctx, messageKey{}, m), raw)
	return s.reword(ctx, m, answer)
}

// detach takes the arguments of a tool call out of a message and leaves {}.
// mcp-go decodes a message five times over and answers an argument of 1e400
// with a protocol error that no model sees; our decoder reads it once. Members
// that appear twice stay where they are: mcp-go then decides which one counts.
func detach(raw json.RawMessage) (*message, json.RawMessage) {
	m := &message{}
	var params, args part
	eachMember(raw, part{0, len(raw)}, func(name string, value part) {
		switch name {
		case "id":
			m.id = raw[value.from:value.to]
		case "method":
			m.method = raw[value.from:value.to]
		case "params":
			params = value.after(params)
		}
	})
	eachMember(raw, params, func(name string, value part) {
		switch name {
		case "name":
			m.name = raw[value.from:value.to]
		case "uri":
			m.uri = raw[value.from:value.to]
		case "arguments":
			args = value.after(args)
		}
	})
	if string(m.method) != `"tools/call"` || args.to <= args.from {
		return m, raw
	}
	m.args = raw[args.from:args.to]
	return m, bytes.Join([][]byte{raw[:args.from], []byte("{}"), raw[args.to:]}, nil)
}

// part is a part of a message, from its first byte up to but without to.
type part struct{ from, to int }

// after is empty where the same member was there before.
func (p part) after(before part) part {
	if before != (part{}) {
		return part{-1, -1}
	}
	return p
}

// eachMember visits the members of the object in a part of raw. It judges nothing: what is
// malformed ends the walk, and whoever decodes the message refuses it.
func eachMember(raw json.RawMessage, in part, visit func(name string, value part)) {
	if in.to <= in.from {
		return
	}
	s := jsonx.Scan(raw[in.from:in.to])
	s.Object(func(name []byte) bool {
		s.Kind() // reads the space before the value
		from := in.from + s.At()
		if !s.Skip() {
			return false
		}
		visit(string(name[1:len(name)-1]), part{from, in.from + s.At()})
		return true
	})
}

// arguments are the bytes that the client sent.
func arguments(ctx context.Context, r mcp.CallToolRequest) json.RawMessage {
	if m := messageFrom(ctx); m != nil && m.args != nil {
		return m.args
	}
	if len(r.Params.RawArguments) > 0 {
		return r.Params.RawArguments
	}
	switch args := r.Params.Arguments.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return args
	default: // they never were bytes, as of a client in the same process
		raw, err := json.Marshal(args)
		if err != nil {
			return json.RawMessage("null")
		}
		return raw
	}
}

// noteErrors keeps the error behind a protocol error where HandleMessage finds
// it; mcp-go only sends its text. The span of the request gets the code of the refusal.
func (s *Server) noteErrors() *server.Hooks {
	h := &server.Hooks{}
	h.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		m := messageFrom(ctx)
		if m != nil {
			m.err = err
		}
		if s.config.Tracing == nil {
			return
		}
		code := fault.Code("")
		if known, ok := errors.AsType[*fault.Error](err); ok {
			code = known.Code
		} else if m != nil && errors.Is(err, server.ErrToolNotFound) {
			code = fault.From(s.config.Vocabulary.absent(plainText(m.name))).Code
		}
		tracing.SpanFromContext(ctx).SetAttributes(tracing.String(TracedCode, string(code)))
	})
	return h
}

// reword replaces the protocol errors that mcp-go leaves without data. Failed resources are
// as 2026-07-28 wants them, in both eras: -32602 and the URI in data.
func (s *Server) reword(ctx context.Context, m *message, answer mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	refusal, ok := answer.(mcp.JSONRPCError)
	if !ok || m.err == nil {
		return answer
	}
	known, isFault := errors.AsType[*fault.Error](m.err)
	_, shapeless := errors.AsType[*server.UnparsableMessageError](m.err)
	data := map[string]any{}
	switch {
	case shapeless:
		what := "the parameters of " + plainText(m.method) + " are not of the form that the protocol gives them"
		known = fault.New(fault.ParamMalformed, what, "Send them as an object, with a value of the right type for each")
	case errors.Is(m.err, server.ErrToolNotFound):
		name := plainText(m.name)
		s.refuseUnknown(ctx, name, m.args)
		known = fault.From(s.config.Vocabulary.absent(name))
		maps.Copy(data, known.Details)
	case errors.Is(m.err, server.ErrResourceNotFound):
		uri := plainText(m.uri)
		known = fault.New(fault.NotFound, "there is no resource "+quote(uri), "Use resources/templates/list to see what there is")
		data["uri"] = uri
	case isFault && m.uri != nil:
		data["uri"] = plainText(m.uri)
	case !isFault:
		return answer
	}
	data["code"] = known.Code
	code := mcp.INVALID_PARAMS
	if category := known.Code.Category(); category == "SYSTEM" || category == "EXECUTION" {
		code = mcp.INTERNAL_ERROR
	}
	return mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, ID: refusal.ID, Error: mcp.NewJSONRPCErrorDetails(code, known.Sentence(), data)}
}

// plainText is the text of a JSON string, or "" of anything else.
func plainText(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
