module github.com/multiollama/mcp-server/examples/memory

go 1.26.5
