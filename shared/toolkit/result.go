package toolkit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
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

// render turns a tool's result, to which out points, into what is sent.
func render(ctx context.Context, out any, emit emitter) (outcome, error) {
	var o outcome
	if sized, ok := out.(interface{ Bytes() int64 }); ok {
		o.bytes = sized.Bytes()
	}
	blocks, hasBlocks := out.(interface{ Contents() []Content })
	if hasBlocks {
		o.contents = blocks.Contents()
	}
	worded, hasText := out.(interface{ Text() string })
	if len(o.contents) == 0 && hasText {
		o.contents = []Content{TextBlock(worded.Text())}
	}
	structured, err := emit(Room(ctx, o.room()), reflect.ValueOf(out).Elem())
	if err != nil {
		return outcome{}, err
	}
	o.structured = structured
	if len(o.contents) == 0 && !hasText {
		o.contents = []Content{TextBlock(string(structured))}
	}
	return o, nil
}

// room is how much the structure of a result may take, which as a rule says again what
// its texts say.
func (o *outcome) room() int {
	size := 512
	for _, c := range o.contents {
		size += len(c.Text) + len(c.Text)/8
	}
	return size
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
	structured := e.Envelope(at, id)
	r.StructuredContent, r.RawStructuredContent = structured, structured
	return r
}

type requestIDKey struct{}

// WithRequestID names the request a call belongs to, for the error envelope and
// the audit log. Without it a call gets a random name.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}
