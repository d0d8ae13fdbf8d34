package toolkit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Content is one block of a result. Only the functions below make one; the zero
// Content is an empty text.
type Content struct {
	Text      string
	MIME, URI string
	Data      []byte
	kind      contentKind
}

type contentKind int

const (
	textContent contentKind = iota
	imageContent
	audioContent
	blobContent
)

// TextBlock is text for a person or a model.
func TextBlock(s string) Content { return Content{Text: s} }

// ImageBlock is an image of that MIME type.
func ImageBlock(mime string, data []byte) Content {
	return Content{MIME: mime, Data: data, kind: imageContent}
}

// AudioBlock is sound of that MIME type.
func AudioBlock(mime string, data []byte) Content {
	return Content{MIME: mime, Data: data, kind: audioContent}
}

// BlobBlock is any other content, as an embedded resource.
func BlobBlock(uri, mime string, data []byte) Content {
	return Content{URI: uri, MIME: mime, Data: data, kind: blobContent}
}

func (c Content) block() mcp.Content {
	switch c.kind {
	case imageContent:
		return mcp.NewImageContent(base64.StdEncoding.EncodeToString(c.Data), c.MIME)
	case audioContent:
		return mcp.NewAudioContent(base64.StdEncoding.EncodeToString(c.Data), c.MIME)
	case blobContent:
		return mcp.NewEmbeddedResource(mcp.BlobResourceContents{URI: c.URI, MIMEType: c.MIME, Blob: base64.StdEncoding.EncodeToString(c.Data)})
	}
	return mcp.NewTextContent(c.Text)
}

// outcome is a success, ready to be sent.
type outcome struct {
	contents   []Content
	structured json.RawMessage
	bytes      int64
	pause      *pause // instead: what a person is asked first
}

// sizeHintMax bounds what is set aside for a result because of the bytes it
// says it has: not all of them need be in it.
const sizeHintMax = 256 << 10

// render turns a pointer to a tool's result into what is sent.
func render(out any) (outcome, error) {
	var o outcome
	if sized, ok := out.(interface{ Bytes() int64 }); ok {
		o.bytes = sized.Bytes()
	}
	structured, err := encode(out, int(min(o.bytes, sizeHintMax)))
	if err != nil {
		return outcome{}, err
	}
	o.structured = structured
	if blocks, ok := out.(interface{ Contents() []Content }); ok {
		o.contents = blocks.Contents()
	}
	if len(o.contents) > 0 {
		return o, nil
	}
	if worded, ok := out.(interface{ Text() string }); ok {
		o.contents = []Content{TextBlock(worded.Text())}
	} else {
		o.contents = []Content{TextBlock(string(structured))}
	}
	return o, nil
}

// encode writes a result as its schema promises: a list that is nil in Go is
// empty in JSON, not null. size is about how much content it has, in bytes.
func encode(out any, size int) (json.RawMessage, error) {
	raw, err := plainJSON(out, size)
	if err != nil || !bytes.Contains(raw, []byte("null")) {
		return raw, err
	}
	return plainJSON(filled(out), size)
}

// plainJSON leaves <, > and & as they are: this is no HTML, and a model reads it.
// The buffer begins with room for size bytes of content.
func plainJSON(v any, size int) (json.RawMessage, error) {
	b := bytes.NewBuffer(make([]byte, 0, 512+size+size/8))
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// result is a success as MCP sends it.
func (s *Server) result(o outcome) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: make([]mcp.Content, len(o.contents))}
	for i, c := range o.contents {
		r.Content[i] = c.block()
	}
	if !s.config.TextOnly {
		r.StructuredContent, r.RawStructuredContent = o.structured, o.structured
	}
	return r
}

// envelope is how a failure looks in structuredContent.
type envelope struct {
	Error failure `json:"error"`
}

type failure struct {
	Code      fault.Code     `json:"code"`
	Message   string         `json:"message"`
	Category  string         `json:"category"`
	Details   map[string]any `json:"details"`
	Timestamp string         `json:"timestamp"` // RFC 3339
	RequestID string         `json:"request_id"`
}

// refusal is a failed call as MCP sends it: a result, not a protocol error, so
// that the model sees it.
func (s *Server) refusal(e *fault.Error, at time.Time, id string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{mcp.NewTextContent(s.config.Vocabulary.FailurePrefix + e.Error())},
	}
	if s.config.TextOnly {
		return r
	}
	structured := failureJSON(failure{
		Code: e.Code, Message: e.Sentence(), Category: e.Code.Category(), Details: e.Details,
		Timestamp: at.Format(time.RFC3339Nano), RequestID: id,
	})
	r.StructuredContent, r.RawStructuredContent = structured, structured
	return r
}

// failureJSON leaves out details that cannot be encoded: the failure itself
// must always arrive.
func failureJSON(f failure) json.RawMessage {
	if f.Details == nil {
		f.Details = map[string]any{}
	}
	raw, err := plainJSON(envelope{f}, 0)
	if err != nil {
		f.Details = map[string]any{}
		raw, _ = plainJSON(envelope{f}, 0)
	}
	return raw
}

type requestIDKey struct{}

// WithRequestID names the request a call belongs to, for the error envelope and
// the audit log. Without it a call gets a random name.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}
