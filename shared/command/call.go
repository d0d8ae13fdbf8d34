package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// maxMessage is the most that one message of a host may hold, in bytes, and the
// most that --json - reads from stdin.
func (a *app) maxMessage() int {
	if a.MaxMessage > 0 {
		return a.MaxMessage
	}
	return 16 << 20
}

func (a *app) callCommand() *cobra.Command {
	var whole, output string
	c := &cobra.Command{
		Use:   "call TOOL [KEY=VALUE …]",
		Short: "Call one tool, with the guards and the audit log of a server",
		Long: "Call one tool, with the guards and the audit log of a server.\n\n" +
			"A value is read by the type of its parameter. For a list, give the key again for\n" +
			"each element, or write JSON. --json - reads the arguments from stdin.",
		Args: arguments(1, -1),
		RunE: func(c *cobra.Command, args []string) error { return a.call(c, args[0], args[1:], whole, output) },
	}
	c.Flags().StringVar(&whole, "json", "", "all arguments as one JSON object, or - for stdin")
	c.Flags().StringVar(&output, "output", "text", "print the text, or with json the whole result")
	return c
}

func (a *app) call(c *cobra.Command, tool string, pairs []string, whole, output string) error {
	if output != "text" && output != "json" {
		return misused("--output is "+output, output, []string{"text", "json"})
	}
	ctx, stop := untilSignal(c.Context())
	defer stop()
	s, err := a.start(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	args, err := a.arguments(paramsOf(s.server.Tools(), tool), pairs, whole)
	if err != nil {
		return err
	}
	return a.print(s.server.Call(ctx, tool, args), output)
}

// paramsOf is the parameters of a tool by name. An unknown tool has none: the
// call itself says so.
func paramsOf(tools []toolkit.Tool, name string) map[string]toolkit.Param {
	params := map[string]toolkit.Param{}
	for _, t := range tools {
		if t.Name != name {
			continue
		}
		for _, p := range t.Params() {
			params[p.Name] = p
		}
	}
	return params
}

// arguments is the JSON object that the command line means.
func (a *app) arguments(params map[string]toolkit.Param, pairs []string, whole string) (json.RawMessage, error) {
	switch {
	case whole == "":
		return fromPairs(params, pairs)
	case len(pairs) > 0:
		return nil, fault.New(fault.Misconfigured, "arguments stand both in --json and as KEY=VALUE", "Use one of the two")
	case whole != "-":
		return json.RawMessage(whole), nil
	}
	raw, err := io.ReadAll(io.LimitReader(a.env.Stdin, int64(a.maxMessage())+1))
	if err == nil && len(raw) > a.maxMessage() {
		err = fault.New(fault.ParamInvalid, fmt.Sprintf("the arguments on stdin are longer than %d MiB", a.maxMessage()>>20), "Call with less")
	}
	return raw, err
}

// fromPairs keeps the order of the keys, so that the tool's own words about
// them are the same as over the wire.
func fromPairs(params map[string]toolkit.Param, pairs []string) (json.RawMessage, error) {
	var keys []string
	values := map[string][]json.RawMessage{}
	for _, pair := range pairs {
		key, word, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("%q is no argument", pair), "Write KEY=VALUE")
		}
		if values[key] == nil {
			keys = append(keys, key)
		}
		values[key] = append(values[key], literal(params[key].Type, word))
	}
	members := make([]string, len(keys))
	for i, key := range keys {
		isList := strings.HasSuffix(params[key].Type, "[]")
		members[i] = string(jsonText(key)) + ":" + join(values[key], isList)
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}"), nil
}

// join is a value that was given once, or a list of them. A list that is
// written as JSON stays as it is; a value given twice that is no list becomes
// one, and the tool says that it wants none.
func join(values []json.RawMessage, isList bool) string {
	if len(values) == 1 && (!isList || values[0][0] == '[') {
		return string(values[0])
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return "[" + strings.Join(words, ",") + "]"
}

// literal is word as JSON of that type: for a list a whole JSON list, or one of
// its elements. What is none stays a string, so that the tool refuses it with
// its own words; so does the value of an unknown key.
func literal(kind, word string) json.RawMessage {
	element, isList := strings.CutSuffix(kind, "[]")
	isJSON := json.Valid([]byte(word))
	switch {
	case isJSON && isList && word[0] == '[':
		return json.RawMessage(word)
	case isJSON && element != "string" && element != "":
		return json.RawMessage(word)
	}
	return jsonText(word)
}

func jsonText(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a form in JSON
	}
	return raw
}

// print writes a result to stdout, the text of a failure to stderr.
func (a *app) print(r *mcp.CallToolResult, output string) error {
	out := a.env.Stdout
	if r.IsError {
		out = a.env.Stderr
	}
	var err error
	if output == "json" {
		err = writeJSON(a.env.Stdout, r)
	} else {
		err = printBlocks(out, r.Content)
	}
	if err == nil && r.IsError {
		return errFailed
	}
	return err
}

func printBlocks(w io.Writer, blocks []mcp.Content) error {
	for _, block := range blocks {
		line := shown(block)
		if !strings.HasSuffix(line, "\n") {
			line += "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// shown is a text as it is; of anything else, what it is.
func shown(block mcp.Content) string {
	switch b := block.(type) {
	case mcp.TextContent:
		return b.Text
	case mcp.ImageContent:
		return fmt.Sprintf("[%s, %d characters of base64: see --output json]", b.MIMEType, len(b.Data))
	case mcp.AudioContent:
		return fmt.Sprintf("[%s, %d characters of base64: see --output json]", b.MIMEType, len(b.Data))
	}
	return fmt.Sprintf("[%T: see --output json]", block)
}
