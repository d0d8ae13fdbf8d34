package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ask puts a server's question to the person; without one it is declined.
func (s *screen) ask(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimSpace(r.Params.Message+"\n"+r.Params.URL), "\n") {
		fmt.Fprintln(s.out, "  "+s.paint(bold, "?"), escape(line))
	}
	if !s.present {
		fmt.Fprintln(s.out, "  "+s.paint(red, "nobody is here to answer: declined"))
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	content := map[string]any{}
	properties := propertiesOf(r.Params.RequestedSchema)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		content[name] = s.fill(name, properties[name])
	}
	if !s.yes("send this answer?") {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// property is one field of a form (specification 2025-11-25, elicitation).
type property struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	Enum  []any  `json:"enum"`
}

// propertiesOf reads a form. A schema that is none has no fields: the library
// has checked it before.
func propertiesOf(schema any) map[string]property {
	var form struct {
		Properties map[string]property `json:"properties"`
	}
	if raw, err := json.Marshal(schema); err == nil {
		_ = json.Unmarshal(raw, &form)
	}
	return form.Properties
}

// fill asks for one field.
func (s *screen) fill(name string, p property) any {
	question := cmp.Or(p.Title, name)
	if p.Type == "boolean" {
		return s.yes(question)
	}
	if p.Enum != nil {
		question = fmt.Sprint(question, " ", p.Enum)
	}
	line := s.read(question + ": ")
	if number, err := strconv.ParseFloat(line, 64); err == nil && p.Type != "string" {
		return number
	}
	return line
}

// yes is whether the person said so; anything else, and silence, is no.
func (s *screen) yes(question string) bool {
	answer := strings.ToLower(s.read(question + " [y/N] "))
	return answer == "y" || answer == "yes"
}

func (s *screen) read(prompt string) string {
	fmt.Fprint(s.out, "  ", s.paint(bold, escape(prompt)))
	line, _ := s.in.ReadString('\n')
	return strings.TrimSpace(line)
}
