package main

import "github.com/multiollama/mcp-server/shared/toolkit"

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(s *shell) []toolkit.Vocabulary {
	return []toolkit.Vocabulary{
		{
			Name:  "standard",
			Doc:   "shell_exec of document 000, and the tools of document 003",
			Tools: append([]toolkit.Tool{toolkit.New(execSpec, s.exec)}, renamedTools(s)...),
		},
		{
			Name:  "agent",
			Doc:   "document 004 to the letter: bash in a folder of the day and the user",
			Tools: []toolkit.Tool{toolkit.New(agentSpec, s.agent)},
		},
		{
			Name:  "shell-server",
			Doc:   "document 003: the names that mcp-shell-server was to get",
			Tools: renamedTools(s),
		},
		{
			Name: "shell-server-2.0",
			Doc:  "document 001: the names and modes of mcp-shell-server 2.0",
			Tools: []toolkit.Tool{
				toolkit.New(execute20Spec, s.execute20),
				toolkit.New(renamed(getSpec, "shell_get_execution"), s.get),
				toolkit.New(listSpec, s.list),
				toolkit.New(renamed(terminateSpec, "process_kill"), s.terminate),
				toolkit.New(monitorSpec, s.monitor),
				toolkit.New(renamed(listOutputsSpec, "file_list"), s.files20),
				toolkit.New(renamed(readOutputSpec, "file_read"), s.file20),
				toolkit.New(renamed(deleteOutputsSpec, "file_delete"), s.delete20),
				toolkit.New(createSpec, s.createTerminal),
				toolkit.New(terminalsSpec, s.listTerminals),
				toolkit.New(renamed(terminalSpec, "terminal_get"), s.terminalInfo),
				toolkit.New(renamed(sendSpec, "terminal_input"), s.send),
				toolkit.New(renamed(outputSpec, "terminal_output"), s.output),
				toolkit.New(resizeSpec, s.resizeTerminal),
				toolkit.New(closeSpec, s.closeTerminal),
				toolkit.New(restrictSpec, s.restrict),
				toolkit.New(statsSpec, s.stats),
			},
		},
	}
}

// renamedTools are the tools of document 003.
func renamedTools(s *shell) []toolkit.Tool {
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
