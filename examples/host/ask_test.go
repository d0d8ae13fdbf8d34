package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestThePersonDecides(t *testing.T) {
	form := map[string]any{"properties": map[string]any{
		"count":  map[string]any{"type": "integer"},
		"reason": map[string]any{"type": "string", "title": "Why", "enum": []string{"because", "42"}},
		"sure":   map[string]any{"type": "boolean"},
	}}
	tests := []struct {
		name, typed string
		schema      any
		want        *mcp.ElicitResult
	}{
		{"yes", "y\n", nil, &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}},
		{"no", "n\n", nil, &mcp.ElicitResult{Action: "decline"}},
		{"the end of input is no", "", nil, &mcp.ElicitResult{Action: "decline"}},
		{"the return key alone is no", "\n", nil, &mcp.ElicitResult{Action: "decline"}},
		{"a form is filled in, in the order of its names", "3\n42\nyes\nyes\n", form,
			&mcp.ElicitResult{Action: "accept", Content: map[string]any{"count": 3.0, "reason": "42", "sure": true}}},
		{"a filled form may still be thrown away", "3\nbecause\nyes\nno\n", form, &mcp.ElicitResult{Action: "decline"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newScreen(streams{in: strings.NewReader(tt.typed), out: &out, lookup: environment}, 0)
			s.present = true
			got, err := s.ask(t.Context(), &mcp.ElicitRequest{Params: &mcp.ElicitParams{Message: "run `rm\u202e x`", RequestedSchema: tt.schema}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(out.String(), "? run `rm\\u202e x`\n") {
				t.Errorf("the question is not shown as it is: %q", out.String())
			}
		})
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(streams{in: strings.NewReader(""), out: &out, lookup: environment}, 0)
	s.heading("plain")
	s.colours = true
	s.heading("bold")
	if want := "\nplain\n\n\x1b[1mbold\x1b[0m\n"; out.String() != want {
		t.Errorf("shown %q, not %q", out.String(), want)
	}
}
