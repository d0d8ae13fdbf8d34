package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
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
		RunE: func(c *cobra.Command, args []string) error {
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
			raw, err := a.arguments(s.server.Tools(), args[0], args[1:], whole)
			if err != nil {
				return err
			}
			return a.print(s.server.Call(ctx, args[0], raw), output == "json")
		},
	}
	c.Flags().StringVar(&whole, "json", "", "all arguments as one JSON object, or - for stdin")
	c.Flags().StringVar(&output, "output", "text", "print the text, or with json the whole result")
	return c
}

// arguments is the JSON object that the command line means: whole, stdin, or pairs in their
// order, so that the tool's own words about them are the same as over the wire.
func (a *app) arguments(tools []toolkit.Tool, tool string, pairs []string, whole string) (json.RawMessage, error) {
	switch {
	case whole != "" && len(pairs) > 0:
		return nil, fault.New(fault.Misconfigured, "arguments stand both in --json and as KEY=VALUE", "Use one of the two")
	case whole == "-":
		raw, err := io.ReadAll(io.LimitReader(a.env.Stdin, int64(a.maxMessage())+1))
		if err == nil && len(raw) > a.maxMessage() {
			err = fault.New(fault.ParamInvalid, fmt.Sprintf("the arguments on stdin are longer than %d MiB", a.maxMessage()>>20), "Call with less")
		}
		return raw, err
	case whole != "":
		return json.RawMessage(whole), nil
	}

	types := map[string]string{} // none for an unknown tool: the call itself says so
	if i := slices.IndexFunc(tools, func(t toolkit.Tool) bool { return t.Name == tool }); i >= 0 {
		for _, p := range tools[i].Params() {
			types[p.Name] = p.Type
		}
	}
	var keys []string
	values := map[string][]string{}
	for _, pair := range pairs {
		key, word, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("%q is no argument", pair), "Write KEY=VALUE")
		}
		if values[key] == nil {
			keys = append(keys, key)
		}
		values[key] = append(values[key], literal(types[key], word))
	}
	for i, key := range keys {
		v := values[key]
		// A list written as JSON stays as it is. A value given twice that is not a list becomes
		// one, and the tool rejects it.
		text := v[0]
		if isList := strings.HasSuffix(types[key], "[]"); len(v) > 1 || isList && text[0] != '[' {
			text = "[" + strings.Join(v, ",") + "]"
		}
		keys[i] = jsonText(key) + ":" + text
	}
	return json.RawMessage("{" + strings.Join(keys, ",") + "}"), nil
}

// literal is word as JSON of that type: for a list a whole JSON list, or one of
// its elements. Anything else stays a string, so that the tool rejects it with
// its own words; so does the value of an unknown key.
func literal(kind, word string) string {
	element, isList := strings.CutSuffix(kind, "[]")
	if json.Valid([]byte(word)) && (isList && word[0] == '[' || element != "string" && element != "") {
		return word
	}
	return jsonText(word)
}

func jsonText(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a form in JSON
	}
	return string(raw)
}

// print writes a result to stdout, the text of a failure to stderr.
func (a *app) print(r *mcp.CallToolResult, asJSON bool) error {
	if asJSON {
		if err := writeJSON(a.env.Stdout, r); err != nil {
			return err
		}
	} else {
		out := a.env.Stdout
		if r.IsError {
			out = a.env.Stderr
		}
		for _, block := range r.Content {
			line := fmt.Sprintf("[%T: see --output json]", block)
			switch b := block.(type) {
			case mcp.TextContent:
				line = b.Text
			case mcp.ImageContent:
				line = fmt.Sprintf("[%s, %d characters of base64: see --output json]", b.MIMEType, len(b.Data))
			case mcp.AudioContent:
				line = fmt.Sprintf("[%s, %d characters of base64: see --output json]", b.MIMEType, len(b.Data))
			}
			if !strings.HasSuffix(line, "\n") {
				line += "\n"
			}
			if _, err := io.WriteString(out, line); err != nil {
				return err
			}
		}
	}
	if r.IsError {
		return errFailed
	}
	return nil
}
