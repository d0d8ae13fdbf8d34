package main

import (
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// vocabularies is the surface of this server. What is not in it does not exist: a model
// cannot list, export or forget memories, the person can (see verbs.go).
func vocabularies(k *keeper) []command.Vocabulary {
	return []command.Vocabulary{
		{Name: "agent", Doc: "document 004 to the letter", Tools: func() []toolkit.Tool {
			return []toolkit.Tool{
				toolkit.New(rememberSpec, k.remember),
				toolkit.New(recallSpec, k.recall),
			}
		}},
	}
}
