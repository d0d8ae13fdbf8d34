module github.com/multiollama/mcp-server/shell-exec

go 1.26.5
