package main

import (
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(w *writer) []command.Vocabulary {
	return []command.Vocabulary{
		{Name: "standard", Doc: "the name of document 000, with edits, directories, moves, copies, deletion and undo",
			Tools: func() []toolkit.Tool {
				return []toolkit.Tool{
					toolkit.New(writeSpec, w.write),
					toolkit.New(editSpec, w.edit),
					toolkit.New(directorySpec, w.createDirectory),
					toolkit.New(moveSpec, w.move),
					toolkit.New(copySpec, w.copy),
					toolkit.New(allowedSpec, w.listAllowed),
					toolkit.New(deleteSpec, w.delete),
					toolkit.New(changesSpec, w.listChanges),
					toolkit.New(restoreSpec, w.restore),
				}
			}},
		{Name: "local-file", Doc: "document 002 to the letter: results as FastMCP gives them", FailurePrefix: "Error: ",
			Tools: func() []toolkit.Tool {
				return []toolkit.Tool{
					toolkit.New(localWriteSpec, w.localWrite),
				}
			}},
		{Name: "agent", Doc: "document 004 to the letter: relative paths only, in a folder of the day and the user",
			Tools: func() []toolkit.Tool {
				return []toolkit.Tool{
					toolkit.New(agentWriteSpec, w.agentWrite),
					toolkit.New(agentEditSpec, w.agentEdit),
				}
			}},
		{Name: "filesystem", Doc: "drop-in for the writing tools of @modelcontextprotocol/server-filesystem", Tools: func() []toolkit.Tool {
			return []toolkit.Tool{
				toolkit.New(fsWriteSpec, w.fsWrite),
				toolkit.New(fsEditSpec, w.fsEdit),
				toolkit.New(fsDirectorySpec, w.fsDirectory),
				toolkit.New(fsMoveSpec, w.fsMove),
			}
		}},
	}
}
