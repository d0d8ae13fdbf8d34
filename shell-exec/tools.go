package main

import "github.com/multiollama/mcp-server/shared/toolkit"

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(s *shell) []toolkit.Vocabulary {
	tools := toolsOf003(s)
	return []toolkit.Vocabulary{
		{
			Name:  "standard",
			Doc:   "shell_exec of document 000, and the tools of document 003",
			Tools: append([]toolkit.Tool{toolkit.New(execSpec, s.exec)}, tools...),
		},
		{
			Name:  "agent",
			Doc:   "document 004 to the letter: bash in a folder of the day and the user",
			Tools: []toolkit.Tool{toolkit.New(agentSpec, s.agent)},
		},
		{
			Name:  "shell-server",
			Doc:   "document 003: the names that mcp-shell-server was to get",
			Tools: tools,
		},
		{
			Name:  "shell-server-2.0",
			Doc:   "document 001: the names and modes of mcp-shell-server 2.0",
			Tools: toolsOf001(s, tools),
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
func toolsOf001(s *shell, tools []toolkit.Tool) []toolkit.Tool {
	old := []toolkit.Tool{
		toolkit.New(execute20Spec, s.execute20),
		toolkit.New(files20Spec, s.files20),
		toolkit.New(file20Spec, s.file20),
		toolkit.New(delete20Spec, s.delete20),
	}
	for _, t := range tools {
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
