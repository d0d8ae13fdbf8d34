package main

import (
	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/toolkit"
)

// vocabularies is the surface of this server: which operations are offered under
// which names. What is not in it does not exist.
func vocabularies(r *reader) []command.Vocabulary {
	return []command.Vocabulary{
		{Name: "standard", Doc: "the names of documents 000 and 002, with line ranges, pages and context", Tools: r.standardTools},
		{Name: "local-file", Doc: "document 002 to the letter: results as FastMCP gives them", FailurePrefix: "Error: ", Tools: r.localFileTools},
		{Name: "agent", Doc: "document 004 to the letter: relative paths only", Tools: r.agentTools},
		{Name: "filesystem", Doc: "drop-in for the reading tools of @modelcontextprotocol/server-filesystem", Tools: r.filesystemTools},
	}
}

func (r *reader) standardTools() []toolkit.Tool {
	return []toolkit.Tool{
		toolkit.New(readSpec, r.read),
		toolkit.New(readManySpec, r.readMany),
		toolkit.New(listSpec, r.list),
		toolkit.New(treeSpec, r.tree),
		toolkit.New(infoSpec, r.info),
		toolkit.New(allowedSpec, r.listAllowed),
		toolkit.New(findSpec, r.find),
		toolkit.New(searchSpec, r.search),
	}
}

func (r *reader) localFileTools() []toolkit.Tool {
	return []toolkit.Tool{
		toolkit.New(localReadSpec, r.localRead),
		toolkit.New(localListSpec, r.localList),
		toolkit.New(localFindSpec, r.localFind),
		toolkit.New(localSearchSpec, r.localSearch),
	}
}

func (r *reader) agentTools() []toolkit.Tool {
	return []toolkit.Tool{
		toolkit.New(agentReadSpec, r.agentRead),
		toolkit.New(agentListSpec, r.agentList),
		toolkit.New(agentGlobSpec, r.agentGlob),
		toolkit.New(agentGrepSpec, r.agentGrep),
	}
}

func (r *reader) filesystemTools() []toolkit.Tool {
	return []toolkit.Tool{
		toolkit.New(fsReadFileSpec, r.fsRead),
		toolkit.New(fsReadTextSpec, r.fsRead),
		toolkit.New(fsReadMediaSpec, r.fsReadMedia),
		toolkit.New(fsReadManySpec, r.fsReadMany),
		toolkit.New(fsListSpec, r.fsList),
		toolkit.New(fsListSizesSpec, r.fsListSizes),
		toolkit.New(fsTreeSpec, r.fsTree),
		toolkit.New(fsSearchSpec, r.fsSearch),
		toolkit.New(fsInfoSpec, r.fsInfo),
		toolkit.New(fsAllowedSpec, r.fsAllowed),
	}
}
