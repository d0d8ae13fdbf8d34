package toolkit

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Resources is one template of MCP resources. Reads are limited and recorded as
// tool calls are, under the name resources/read.
type Resources struct {
	URITemplate      string // RFC 6570
	Name, Title, Doc string
	Read             func(ctx context.Context, uri string) ([]ResourceContent, error)
	// Complete offers values for the template's variable; nil offers none. At
	// most 100 are sent (MCP, completion).
	Complete func(ctx context.Context, prefix string) (values []string, total int, more bool, err error)
	// Watch is called once, with what tells the clients that subscribed to a resource that
	// it has changed; nil: nothing changes, and nobody can subscribe.
	Watch func(changed func(uri string))
}

// ResourceContent is what a URI names: text, or a blob where that is not nil.
type ResourceContent struct {
	URI, MIME, Text string
	Blob            []byte
}

// JSONContent is v as JSON under a URI.
func JSONContent(uri string, v any) (ResourceContent, error) {
	raw, err := json.Marshal(v)
	return ResourceContent{URI: uri, MIME: "application/json", Text: string(raw)}, err
}

const maxCompletions = 100

// readResource is a read, guarded as a tool call is.
func (s *Server) readResource(ctx context.Context, r mcp.ReadResourceRequest) (all []mcp.ResourceContents, err error) {
	uri := r.Params.URI
	err = s.reading(ctx, mcp.MethodResourcesRead, "uri", uri, func(ctx context.Context) (size int64, err error) {
		contents, err := s.config.Resources.Read(ctx, uri)
		all = make([]mcp.ResourceContents, len(contents))
		for i, c := range contents {
			if c.Blob != nil { // an empty blob is none
				all[i] = mcp.BlobResourceContents{URI: c.URI, MIMEType: c.MIME, Blob: base64.StdEncoding.EncodeToString(c.Blob)}
			} else {
				all[i] = mcp.TextResourceContents{URI: c.URI, MIMEType: c.MIME, Text: c.Text}
			}
			size += int64(len(c.Text) + len(c.Blob))
		}
		return size, err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// changed tells every session that subscribed to uri. A client that does not read loses
// the news, as mcp-go has it, and learns at its next one.
func (s *Server) changed(uri string) {
	s.watching.Range(func(id, session any) bool {
		if session.(server.SessionWithResourceSubscriptions).IsSubscribedToResource(uri) {
			_ = s.mcp.SendNotificationToSpecificClient(id.(string), mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
		}
		return true
	})
}

// completer offers the values of the template's variable.
type completer struct{ server *Server }

var _ server.ResourceCompletionProvider = completer{}

// CompleteResourceArgument is what mcp-go calls for completion/complete.
func (c completer) CompleteResourceArgument(
	ctx context.Context, uri string, arg mcp.CompleteArgument, _ mcp.CompleteContext,
) (*mcp.Completion, error) {
	r := c.server.config.Resources
	if uri != r.URITemplate {
		return nil, fault.New(fault.NotFound, "there is no resource template "+quote(uri), "The template is "+r.URITemplate)
	}
	var found mcp.Completion
	err := c.server.reading(ctx, mcp.MethodCompletionComplete, "prefix", arg.Value, func(ctx context.Context) (_ int64, err error) {
		found.Values, found.Total, found.HasMore, err = r.Complete(ctx, arg.Value)
		return 0, err
	})
	if err != nil {
		return nil, err
	}
	if len(found.Values) > maxCompletions {
		found.Values, found.HasMore = found.Values[:maxCompletions], true
	}
	return &found, nil
}

// reading is the way of everything that reads and is no tool. What it wants is recorded as an
// argument; run returns how many bytes it read.
func (s *Server) reading(
	ctx context.Context, method mcp.MCPMethod, key, value string, run func(context.Context) (int64, error),
) (err error) {
	c := s.open(ctx, string(method), Reads, mustJSON(map[string]string{key: value}), nil)
	c.event.Paths = []string{s.config.Locate(value)}
	size := int64(0)
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
		err = c.end(outcome{bytes: size}, err)
	}()
	if err := c.limit(); err != nil {
		return err
	}
	c.ran = true
	size, err = run(context.WithValue(ctx, callKey{}, c))
	return err
}
