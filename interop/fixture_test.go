package interop

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// fixture is a server with the tools and resources that the suite calls by their names,
// made as our own servers make theirs. What toolkit does not offer is not here: the
// suite says so, and the baseline says why.
func fixture(t *testing.T) *toolkit.Server {
	t.Helper()
	s, err := toolkit.NewServer(toolkit.Config{
		Name: "fixture", Version: "1", Title: "Fixture",
		Vocabulary: toolkit.Vocabulary{Name: "conformance", Tools: []toolkit.Tool{
			tool("test_simple_text", says("This is a simple text response for testing.")),
			tool("test_image_content", shows(picture())),
			tool("test_audio_content", shows(sound())),
			tool("test_embedded_resource", shows(embedded())),
			tool("test_multiple_content_types", shows(toolkit.TextBlock("Multiple content types test:"), picture(), embedded())),
			tool("test_error_handling", fails),
			tool("test_tool_with_progress", reports),
			tool("test_elicitation", asks),
			tool("test_streaming_elicitation", asks),
			tool("test_logging_tool", says("There is no logging: the protocol of 2026-07-28 deprecates it.")),
			tool("test_input_required_result_elicitation", asks),
			tool("test_input_required_result_request_state", asks),
			tool("test_input_required_result_tampered_state", asks),
			tool("test_input_required_result_capabilities", asks),
			tool("test_input_required_result_multi_round", asksTwice),
		}},
		Resources: &toolkit.Resources{
			URITemplate: "test://{+path}", Name: "test", Title: "Test", Doc: "What the suite reads.",
			Read: readTest, Complete: completeTest, Watch: func(func(uri string)) {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// argument is what the suite gives some tools, none of which needs it.
type argument struct {
	Message string `json:"message,omitempty"`
}

// blocks is a result.
type blocks struct {
	Count int `json:"count"`
	all   []toolkit.Content
}

func (b blocks) Contents() []toolkit.Content { return b.all }

type handler = func(context.Context, argument) (blocks, error)

func tool(name string, run handler) toolkit.Tool {
	return toolkit.New(toolkit.Spec{Name: name, Doc: "What the conformance suite calls " + name + ".", Toolset: "test", Effect: toolkit.Reads}, run)
}

func shows(all ...toolkit.Content) handler {
	return func(context.Context, argument) (blocks, error) { return blocks{len(all), all}, nil }
}

func says(text string) handler { return shows(toolkit.TextBlock(text)) }

func fails(context.Context, argument) (blocks, error) {
	return blocks{}, fault.New(fault.ParamInvalid, "this tool always fails", "Call another one")
}

// reports tells of its progress more slowly than toolkit would leave something out.
func reports(ctx context.Context, _ argument) (blocks, error) {
	for done := range 3 {
		toolkit.Progress(ctx, float64(50*done), 100, "")
		time.Sleep(120 * time.Millisecond)
	}
	return says("Done.")(ctx, argument{})
}

func asks(ctx context.Context, in argument) (blocks, error) {
	return asksAll(ctx, "may this be done? "+in.Message)
}

func asksTwice(ctx context.Context, _ argument) (blocks, error) {
	return asksAll(ctx, "may this be done?", "and that?")
}

func asksAll(ctx context.Context, questions ...string) (blocks, error) {
	for _, q := range questions {
		if err := toolkit.Confirm(ctx, toolkit.Question{ID: q, Title: q}); err != nil {
			return blocks{}, err
		}
	}
	return says("state-ok")(ctx, argument{})
}

// readTest is what lies under a URI.
func readTest(_ context.Context, uri string) ([]toolkit.ResourceContent, error) {
	id, isTemplate := strings.CutPrefix(uri, "test://template/")
	id, hasData := strings.CutSuffix(id, "/data")
	switch {
	case uri == "test://static-text", uri == "test://watched-resource":
		return []toolkit.ResourceContent{{URI: uri, MIME: "text/plain", Text: "This is a text."}}, nil
	case uri == "test://static-binary":
		return []toolkit.ResourceContent{{URI: uri, MIME: "image/png", Blob: redPixel()}}, nil
	case isTemplate && hasData:
		c, err := toolkit.JSONContent(uri, map[string]string{"id": id})
		return []toolkit.ResourceContent{c}, err
	}
	return nil, fault.New(fault.NotFound, fmt.Sprintf("there is no resource %q", uri), "Read test://static-text")
}

func completeTest(_ context.Context, prefix string) (values []string, total int, more bool, err error) {
	for _, name := range []string{"static-text", "static-binary", "watched-resource"} {
		if strings.HasPrefix(name, prefix) {
			values = append(values, name)
		}
	}
	return values, len(values), false, nil
}

func picture() toolkit.Content { return toolkit.ImageBlock("image/png", redPixel()) }

func sound() toolkit.Content {
	return toolkit.AudioBlock("audio/wav", []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"))
}

func embedded() toolkit.Content {
	return toolkit.BlobBlock("test://embedded-resource", "text/plain", []byte("This is an embedded resource content."))
}

// redPixel is one red pixel.
func redPixel() []byte {
	b, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	if err != nil {
		panic(err)
	}
	return b
}
