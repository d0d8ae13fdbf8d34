package main

import "github.com/multiollama/mcp-server/shared/toolkit"

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(s *shell) []toolkit.Vocabulary {
	return []toolkit.Vocabulary{
		{
			Name: "standard",
			Doc:  "shell_exec of document 000, and the names of document 003",
			Tools: []toolkit.Tool{
				toolkit.New(execSpec, s.exec),
				toolkit.New(executeSpec, s.execute),
				toolkit.New(getSpec, s.get),
				toolkit.New(listSpec, s.list),
				toolkit.New(terminateSpec, s.terminate),
				toolkit.New(readOutputSpec, s.readOutput),
				toolkit.New(listOutputsSpec, s.listOutputs),
				toolkit.New(deleteOutputsSpec, s.deleteOutputs),
			},
		},
		{
			Name:  "agent",
			Doc:   "document 004 to the letter: bash in a folder of the day and the user",
			Tools: []toolkit.Tool{toolkit.New(agentSpec, s.agent)},
		},
	}
}
