package toolkit_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/toolkit"
)

type countIn struct {
	Text string `json:"text" doc:"what to count in"`
	Of   string `json:"of,omitempty" doc:"what to count" enum:"bytes|runes" default:"bytes"`
}

type countOut struct {
	Count int `json:"count"`
}

// Text is what a model reads.
func (o countOut) Text() string { return fmt.Sprintf("There are %d.", o.Count) }

func count(_ context.Context, in countIn) (countOut, error) {
	if in.Of == "runes" {
		return countOut{len([]rune(in.Text))}, nil
	}
	return countOut{len(in.Text)}, nil
}

func Example() {
	vocabulary := toolkit.Vocabulary{Name: "standard", Tools: []toolkit.Tool{
		toolkit.New(toolkit.Spec{Name: "count", Title: "Count", Doc: "Count bytes or runes.", Toolset: "read", Effect: toolkit.Reads}, count),
	}}
	s, err := toolkit.NewServer(toolkit.Config{Name: "counter", Version: "1", Vocabulary: vocabulary})
	if err != nil {
		panic(err)
	}
	for _, args := range []string{`{"text":"héllo"}`, `{"text":"héllo","of":"runes"}`, `{"text":"x","of":"rune"}`} {
		result := s.Call(context.Background(), "count", json.RawMessage(args))
		fmt.Println(result.Content[0].(mcp.TextContent).Text)
	}
	// Output:
	// There are 6.
	// There are 5.
	// PARAM_002: the parameter "of" is "rune", but must be one of bytes, runes. Choose one of bytes, runes.
}
