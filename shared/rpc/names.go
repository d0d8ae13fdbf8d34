package rpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Programs disagree about a message in which a name appears twice: some take the first,
// some the last. encoding/json, which reads messages after this package, also takes "ID"
// for "id" and "Capabilities" for "capabilities". A proxy, a log or a filter on the way
// would then see another message than the server. So a name is accepted once in an object,
// and only as the protocol spells it.

// protocolNames are the names that handlers decode.
func protocolNames() []string {
	return []string{
		"jsonrpc", "id", "method", "params", "result", "error",
		"name", "arguments", "_meta", "uri", "cursor", "level", "ref", "argument", "context", "type", "value",
		"requestId", "reason", "progressToken", "progress", "total", "message",
		"protocolVersion", "capabilities", "clientInfo", "title", "version", "description", "websiteUrl", "icons",
		"roots", "listChanged", "sampling", "elicitation", "form", "url", "tools", "tasks", "task", "requests", "extensions", "experimental",
		"inputResponses", "requestState", "action", "content", "code", "data",
		"notifications", "toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions",
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel, mcp.MetaKeySubscriptionID,
	}
}

// misspelt is the name of the protocol that a decoder without regard to case would take
// name for, or "".
func misspelt(name string) string {
	for _, known := range protocolNames() {
		if name != known && strings.EqualFold(name, known) {
			return known
		}
	}
	return ""
}

// ordinaryName reports whether a name is one of the protocol's, without a search for what
// else it could mean.
func ordinaryName(name []byte) bool {
	switch string(name) {
	case "jsonrpc", "id", "method", "params", "name", "arguments", "_meta", "uri", "cursor", "progressToken",
		"protocolVersion", "capabilities", "clientInfo", "title", "version",
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities:
		return true
	}
	return misspelt(string(name)) == ""
}

// ambiguous says what is wrong with the names of a message that is JSON: "" if nothing.
// about is the top-level name that it is about. The arguments of a tool are for the tool's
// own decoder, which knows the names there.
func ambiguous(line []byte) (wrong, about string) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	c := names{d: d}
	wrong = c.value(nil)
	if len(c.way) > 0 {
		about = c.way[0]
	}
	return wrong, about
}

// names goes through the names of a message.
type names struct {
	d   *json.Decoder
	way []string // to the name that is wrong
}

func (c *names) value(way []string) string {
	switch t, _ := c.d.Token(); t {
	case json.Delim('{'):
		return c.object(way)
	case json.Delim('['):
		for c.d.More() {
			if wrong := c.value(append(way, "")); wrong != "" {
				return wrong
			}
		}
		_, _ = c.d.Token() // the end; the message is known to be JSON
	}
	return ""
}

func (c *names) object(way []string) string {
	seen := map[string]bool{}
	for c.d.More() {
		t, err := c.d.Token()
		if err != nil {
			return ""
		}
		name, _ := t.(string)
		here := append(way, name)
		if wrong := twice(seen, name); wrong != "" {
			c.way = slices.Clone(here)
			return wrong
		}
		if known := misspelt(name); known != "" {
			c.way = slices.Clone(here)
			return "the name " + strconv.Quote(name) + " is written " + strconv.Quote(known)
		}
		if len(here) == 2 && here[0] == "params" && name == "arguments" {
			var skipped json.RawMessage
			_ = c.d.Decode(&skipped)
			continue
		}
		if wrong := c.value(here); wrong != "" {
			return wrong
		}
	}
	_, _ = c.d.Token() // the end; the message is known to be JSON
	return ""
}

// mostNames is how many names an object of a message may have, arguments aside.
const mostNames = 1000

// twice records a name, and says so where it was there in the same or other letters.
func twice(seen map[string]bool, name string) string {
	if len(seen) == mostNames {
		return "an object has more than " + strconv.Itoa(mostNames) + " names"
	}
	folded := foldCase(name)
	if seen[folded] {
		return "the name " + strconv.Quote(name) + " appears twice in one object"
	}
	seen[folded] = true
	return ""
}

// foldCase is the same for names that strings.EqualFold calls equal.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u017f': // long s
			return 's'
		case '\u212a': // the Kelvin sign
			return 'k'
		}
		return r
	}, strings.ToLower(name))
}
