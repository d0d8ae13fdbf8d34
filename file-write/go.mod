module github.com/multiollama/mcp-server/file-write

go 1.26.5
