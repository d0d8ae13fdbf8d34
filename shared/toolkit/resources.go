package toolkit

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sync"

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

// ResourceContent is what stands under a URI: text, or a blob where that is not nil.
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

func (r *Resources) check() error {
	var t mcp.URITemplate
	if err := t.UnmarshalJSON(mustJSON(r.URITemplate)); err != nil || r.URITemplate == "" {
		return misconfigured("the resource template " + quote(r.URITemplate) + " is not well-formed")
	}
	if r.Name == "" || r.Read == nil {
		return misconfigured("the resource template has no name or nothing that reads it")
	}
	return nil
}

func (r *Resources) template() mcp.ResourceTemplate {
	return mcp.NewResourceTemplate(r.URITemplate, r.Name, mcp.WithTemplateTitle(r.Title), mcp.WithTemplateDescription(r.Doc))
}

// readResource is a read, guarded as a tool call is.
func (s *Server) readResource(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri := r.Params.URI
	contents, err := s.reading(ctx, asked{mcp.MethodResourcesRead, "uri", uri}, func(ctx context.Context) ([]ResourceContent, error) {
		return s.config.Resources.Read(ctx, uri)
	})
	if err != nil {
		return nil, err
	}
	all := make([]mcp.ResourceContents, len(contents))
	for i, c := range contents {
		all[i] = c.block()
	}
	return all, nil
}

func (c ResourceContent) block() mcp.ResourceContents {
	if c.Blob != nil {
		return mcp.BlobResourceContents{URI: c.URI, MIMEType: c.MIME, Blob: base64.StdEncoding.EncodeToString(c.Blob)}
	}
	return mcp.TextResourceContents{URI: c.URI, MIMEType: c.MIME, Text: c.Text}
}

func (c ResourceContent) size() int64 { return int64(len(c.Text) + len(c.Blob)) }

// watching are the sessions that may have subscribed to resources.
type watching struct{ sessions sync.Map }

func (w *watching) add(session server.ClientSession) {
	if s, ok := session.(server.SessionWithResourceSubscriptions); ok {
		w.sessions.Store(s.SessionID(), s)
	}
}

func (w *watching) forget(id string) { w.sessions.Delete(id) }

// changed tells every session that subscribed to uri. A client that does not read loses
// the news, as mcp-go has it, and learns at its next one.
func (s *Server) changed(uri string) {
	s.watching.sessions.Range(func(id, session any) bool {
		if session.(server.SessionWithResourceSubscriptions).IsSubscribedToResource(uri) {
			_ = s.mcp.SendNotificationToSpecificClient(id.(string), mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
		}
		return true
	})
}

// completer offers the values of the template's variable.
type completer struct{ server *Server }

// CompleteResourceArgument is what mcp-go calls for completion/complete.
func (c completer) CompleteResourceArgument(ctx context.Context, uri string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	r := c.server.config.Resources
	if uri != r.URITemplate {
		return nil, fault.New(fault.NotFound, "there is no resource template "+quote(uri), "The template is "+r.URITemplate)
	}
	var found mcp.Completion
	_, err := c.server.reading(ctx, asked{mcp.MethodCompletionComplete, "prefix", arg.Value}, func(ctx context.Context) (_ []ResourceContent, err error) {
		found.Values, found.Total, found.HasMore, err = r.Complete(ctx, arg.Value)
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	if len(found.Values) > maxCompletions {
		found.Values, found.HasMore = found.Values[:maxCompletions], true
	}
	return &found, nil
}

// asked is what a request that is no tool call wants, for the record.
type asked struct {
	method     mcp.MCPMethod
	key, value string
}

// reading is the way of everything that reads and is no tool.
func (s *Server) reading(ctx context.Context, a asked, run func(context.Context) ([]ResourceContent, error)) ([]ResourceContent, error) {
	c := s.open(ctx, string(a.method), Reads)
	c.event.Arguments = s.masked(mustJSON(map[string]string{a.key: a.value}), nil)
	c.event.Paths = []string{s.config.Locate(a.value)}
	contents, err := c.read(ctx, run)
	var size int64
	for _, content := range contents {
		size += content.size()
	}
	if failed := c.end(outcome{bytes: size}, err); failed != nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return contents, nil
}

func (c *call) read(ctx context.Context, run func(context.Context) ([]ResourceContent, error)) ([]ResourceContent, *fault.Error) {
	if err := c.server.limits.take(c.counted, c.started); err != nil {
		c.event.Verdict, c.event.Rule = "deny", "rate-limit"
		return nil, err
	}
	return guarded(func() ([]ResourceContent, error) {
		c.ran = true
		return run(context.WithValue(ctx, callKey{}, c))
	})
}

var _ server.ResourceCompletionProvider = completer{}
