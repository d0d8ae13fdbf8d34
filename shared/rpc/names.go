package rpc

import (
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Programs disagree about a message in which a name appears twice: some take the first,
// some the last. encoding/json, which reads messages after this package, also takes "ID"
// for "id" and "Capabilities" for "capabilities". A proxy, a log or a filter on the way
// would then see another message than the server. So a name is accepted once in an object,
// and only as the protocol spells it.

// protocolNames are the names that handlers decode, by what foldCase makes of them.
var protocolNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"jsonrpc", "id", "method", "params", "result", "error",
		"name", "arguments", "_meta", "uri", "cursor", "level", "ref", "argument", "context", "type", "value",
		"requestId", "reason", "progressToken", "progress", "total", "message",
		"protocolVersion", "capabilities", "clientInfo", "title", "version", "description", "websiteUrl", "icons",
		"roots", "listChanged", "sampling", "elicitation", "form", "url", "tools", "tasks", "task", "requests", "extensions", "experimental",
		"inputResponses", "requestState", "action", "content", "code", "data",
		"notifications", "toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions",
		mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities, mcp.MetaKeyLogLevel, mcp.MetaKeySubscriptionID,
	} {
		names[foldCase(name)] = name
	}
	return names
}()

// maxNames is how many names an object of a message may have, arguments aside.
const maxNames = 1000

// ambiguous says what is wrong with another name in an object, "" if nothing. Seen are those
// before it.
func ambiguous(seen map[string]bool, name string) string {
	folded := foldCase(name)
	switch known := protocolNames[folded]; {
	case len(seen) == maxNames:
		return "an object has more than " + strconv.Itoa(maxNames) + " names"
	case seen[folded]:
		return "the name " + strconv.Quote(name) + " appears twice in one object"
	case known != "" && known != name && strings.EqualFold(known, name):
		return "the name " + strconv.Quote(name) + " is written " + strconv.Quote(known)
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
