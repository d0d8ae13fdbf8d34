package main

import (
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(s *shell) []command.Vocabulary {
	return []command.Vocabulary{
		{
			Name: "standard",
			Doc:  "shell_exec of document 000, and the tools of document 003",
			Tools: func() []toolkit.Tool {
				return append([]toolkit.Tool{toolkit.New(execSpec, s.exec)}, toolsOf003(s)...)
			},
		},
		{
			Name:  "agent",
			Doc:   "document 004 to the letter: bash in a folder of the day and the user",
			Tools: func() []toolkit.Tool { return []toolkit.Tool{toolkit.New(agentSpec, s.agent)} },
		},
		{
			Name:  "shell-server",
			Doc:   "document 003: the names that mcp-shell-server was to get",
			Tools: func() []toolkit.Tool { return toolsOf003(s) },
		},
		{
			Name:  "shell-server-2.0",
			Doc:   "document 001: the names and modes of mcp-shell-server 2.0",
			Tools: func() []toolkit.Tool { return toolsOf001(s) },
		},
	}
}

func toolsOf003(s *shell) []toolkit.Tool {
	return []toolkit.Tool{
		toolkit.New(executeSpec, s.execute),
		toolkit.New(workdirSpec, s.setWorkdir),
		toolkit.New(getSpec, s.get),
		toolkit.New(listSpec, s.list),
		toolkit.New(terminateSpec, s.terminate),
		toolkit.New(monitorSpec, s.monitor),
		toolkit.New(readOutputSpec, s.readOutput),
		toolkit.New(listOutputsSpec, s.listOutputs),
		toolkit.New(deleteOutputsSpec, s.deleteOutputs),
		toolkit.New(createSpec, s.createTerminal),
		toolkit.New(terminalsSpec, s.listTerminals),
		toolkit.New(terminalSpec, s.terminalInfo),
		toolkit.New(sendSpec, s.send),
		toolkit.New(outputSpec, s.output),
		toolkit.New(resizeSpec, s.resizeTerminal),
		toolkit.New(closeSpec, s.closeTerminal),
		toolkit.New(restrictSpec, s.restrict),
		toolkit.New(statsSpec, s.stats),
	}
}

// names001 are the tools that document 003 renamed.
var names001 = map[string]string{
	"process_get_execution": "shell_get_execution", "process_terminate": "process_kill",
	"terminal_get_info": "terminal_get", "terminal_send_input": "terminal_input", "terminal_get_output": "terminal_output",
}

// toolsOf001 are those of document 003 under their old names, and some with their old
// parameters instead; the default working directory came later.
func toolsOf001(s *shell) []toolkit.Tool {
	old := []toolkit.Tool{
		toolkit.New(execute20Spec, s.execute20),
		toolkit.New(listOutputsSpec, s.files20).Named("file_list"),
		toolkit.New(readOutputSpec, s.file20).Named("file_read"),
		toolkit.New(deleteOutputsSpec, s.delete20).Named("file_delete"),
	}
	for _, t := range toolsOf003(s) {
		switch t.Name {
		case executeSpec.Name, listOutputsSpec.Name, readOutputSpec.Name, deleteOutputsSpec.Name, workdirSpec.Name:
			continue
		}
		if name, renamed := names001[t.Name]; renamed {
			t = t.Named(name)
		}
		old = append(old, t)
	}
	return old
}
