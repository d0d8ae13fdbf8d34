// Package toolkit makes an MCP tool from a plain function and serves a table of
// them. It validates what a client sends, records the call, runs the function,
// and shapes what comes back.
//
// It refuses to touch files or processes, to decide what a tool may do, and to
// tell a client anything that is not in an error's own sentence: causes, panics
// and stacks go to the audit log only. What is not in a [Vocabulary] cannot be
// called. A table that means nothing panics when it is built, before anything
// is served.
package toolkit

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/multiollama/mcp-server/shared/jsonx"
)

// Effect is the strongest thing a tool does. The zero Effect is refused.
type Effect int

// The effects. Writes and Runs are recorded before they start, so that a crash
// leaves the intent in the log.
const (
	_ Effect = iota
	Reads
	Writes
	Runs
)

// String is the effect in one word.
func (e Effect) String() string {
	if e < Reads || e > Runs {
		return "unknown"
	}
	return [...]string{"", "reads", "writes", "runs"}[e]
}

// Spec is what a table says about a tool.
type Spec struct {
	Name    string // as clients call it: letters, digits, - and _, at most 64
	Title   string // for people
	Doc     string // for models: what it does, in a sentence or a few
	Toolset string // what --toolsets narrows by
	Effect  Effect

	Destructive bool // may change or remove what was there
	Idempotent  bool // twice is as good as once; Reads always are
	OpenWorld   bool // reaches beyond this machine
}

// Tool is a [Spec] with its function. Only [New] makes one that works.
type Tool struct {
	Spec
	in      shape
	input   json.RawMessage
	output  json.RawMessage
	result  reflect.Type
	quiet   map[string]bool
	prepare func(jsonx.Value) (prepared, error)
}

// prepared is a call whose arguments are decoded and valid.
type prepared struct {
	paths []string // as the client wrote them
	run   func(context.Context) (outcome, error)
}

// New makes a tool from a function. In and Out are structs; their fields' tags
// are the schemas. It panics on a table that means nothing: a zero Effect, a
// tag that contradicts its type, a field no schema can describe.
//
// Tags of In: json (required unless omitempty or omitzero), doc, min, max,
// default, enum ("a|b"), minItems, maxItems, path ("read" or "write": recorded
// in full), secret and content ("true": recorded as digest and length only).
// Its kinds are string, bool, int, int64, float64, slices and structs of these,
// map[string]string, and pointers to scalars where "not given" matters.
//
// Out is what structuredContent holds. Where it has Text() string, that is the
// text block, else its JSON is; where it has Contents() []Content and that is
// not empty, those are the content blocks; Bytes() int64 is recorded.
func New[In, Out any](s Spec, fn func(context.Context, In) (Out, error)) Tool {
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	s.check(in, out)
	plan := shapeOf(in)
	quiet := map[string]bool{}
	plan.quietNames(quiet)
	return Tool{
		Spec:   s,
		in:     plan,
		input:  mustJSON(plan.inputSchema()),
		output: mustJSON(outputSchema(out)),
		result: out,
		quiet:  quiet,
		prepare: func(given jsonx.Value) (prepared, error) {
			var args In
			if err := plan.record(given, reflect.ValueOf(&args).Elem(), where{}); err != nil {
				return prepared{}, err
			}
			run := func(ctx context.Context) (outcome, error) {
				result, err := fn(ctx, args)
				if err != nil {
					return outcome{}, err
				}
				return render(ctx, &result)
			}
			return prepared{plan.paths(reflect.ValueOf(args)), run}, nil
		},
	}
}

// Named is the same tool under another name.
func (t Tool) Named(name string) Tool {
	if !isToolName(name) {
		panic(fmt.Sprintf("tool %q: %q is no name for it", t.Name, name))
	}
	t.Name = name
	return t
}

// check panics with the tool's name on a Spec that a client could not use.
func (s Spec) check(in, out reflect.Type) {
	for _, rule := range []struct {
		broken bool
		why    string
	}{
		{!isToolName(s.Name), "a name has 1 to 64 letters, digits, - or _"},
		{s.Doc == "", "it has no Doc"},
		{s.Effect.String() == "unknown", "it has no Effect"},
		{s.Effect == Reads && s.Destructive, "what only reads is not destructive"},
		{in.Kind() != reflect.Struct, "its parameters are no struct"},
		{out.Kind() != reflect.Struct, "its result is no struct"},
	} {
		if rule.broken {
			panic(fmt.Sprintf("tool %q: %s", s.Name, rule.why))
		}
	}
}

func isToolName(name string) bool {
	for _, c := range []byte(name) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 64
}

// InputSchema is the JSON Schema (2020-12) of the parameters.
func (t Tool) InputSchema() json.RawMessage { return slices.Clone(t.input) }

// OutputSchema is the JSON Schema (2020-12) of structuredContent, which is
// either a success or {"error": …}.
func (t Tool) OutputSchema() json.RawMessage { return slices.Clone(t.output) }

// definition is the tool as tools/list shows it.
func (t Tool) definition(textOnly bool) mcp.Tool {
	// Hints about change mean something only where a tool is not read-only (MCP specification,
	// ToolAnnotations), and every list is paid for in tokens.
	reads := t.Effect == Reads
	d := mcp.Tool{
		Name:           t.Name,
		Title:          t.Title,
		Description:    t.Doc,
		RawInputSchema: t.input,
		Annotations:    mcp.ToolAnnotation{ReadOnlyHint: &reads, OpenWorldHint: &t.OpenWorld},
	}
	if !reads {
		d.Annotations.DestructiveHint, d.Annotations.IdempotentHint = &t.Destructive, &t.Idempotent
	}
	if !textOnly {
		d.RawOutputSchema = t.output
	}
	return d
}
