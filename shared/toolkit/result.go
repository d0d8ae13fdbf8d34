package toolkit

import (
	"context"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/jsonx"
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

// outcome is a success, ready to be sent.
type outcome struct {
	contents   []Content
	structured jsonx.Structured
	bytes      int64
	pause      *pause // instead: what a person is asked first
}

// render turns a tool's result, to which out points, into what is sent.
func render(ctx context.Context, out any) (o outcome, err error) {
	if sized, ok := out.(interface{ Bytes() int64 }); ok {
		o.bytes = sized.Bytes()
	}
	if blocks, ok := out.(interface{ Contents() []Content }); ok {
		o.contents = blocks.Contents()
	}
	worded, hasText := out.(interface{ Text() string })
	if len(o.contents) == 0 && hasText {
		o.contents = []Content{TextBlock(worded.Text())}
	}
	if c := callFrom(ctx); len(o.contents) > 0 && c != nil && c.server.config.TextOnly {
		return o, nil
	}
	size := 512 // the structure says again what the texts say, as a rule
	for _, c := range o.contents {
		size += len(c.Text) + len(c.Text)/8
	}
	if o.structured.RawMessage, err = o.structured.Append(make([]byte, 0, size), out); err != nil {
		return outcome{}, err
	}
	if len(o.contents) == 0 {
		o.contents = []Content{TextBlock(string(o.structured.RawMessage))}
	}
	return o, nil
}

// result is a success as MCP sends it.
func (s *Server) result(o outcome) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: make([]mcp.Content, len(o.contents))}
	for i, c := range o.contents {
		switch c.kind {
		case imageContent:
			r.Content[i] = mcp.NewImageContent(base64.StdEncoding.EncodeToString(c.Data), c.MIME)
		case audioContent:
			r.Content[i] = mcp.NewAudioContent(base64.StdEncoding.EncodeToString(c.Data), c.MIME)
		case blobContent:
			r.Content[i] = mcp.NewEmbeddedResource(mcp.BlobResourceContents{
				URI: c.URI, MIMEType: c.MIME, Blob: base64.StdEncoding.EncodeToString(c.Data),
			})
		default:
			r.Content[i] = mcp.NewTextContent(c.Text)
		}
	}
	if !s.config.TextOnly {
		r.StructuredContent, r.RawStructuredContent = o.structured, o.structured.RawMessage
	}
	return r
}

// refusal is a failed call as MCP sends it: a result, not a protocol error, so
// that the model sees it.
func (s *Server) refusal(err error, id string) *mcp.CallToolResult {
	e := fault.From(err)
	r := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.NewTextContent(s.config.Vocabulary.FailurePrefix + e.Error())}}
	if !s.config.TextOnly {
		structured := e.Envelope(s.config.Clock(), id)
		r.StructuredContent, r.RawStructuredContent = structured, structured
	}
	return r
}
