package main

import (
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(f *fetcher) []command.Vocabulary {
	return []command.Vocabulary{
		{Name: "standard", Doc: "with parts of long pages, and what is known of a page as fields",
			Tools: func() []toolkit.Tool { return []toolkit.Tool{toolkit.New(fetchSpec, f.fetch)} }},
		{Name: "agent", Doc: "document 004 to the letter",
			Tools: func() []toolkit.Tool { return []toolkit.Tool{toolkit.New(agentSpec, f.agent)} }},
	}
}
