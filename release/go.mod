module github.com/multiollama/mcp-server/release

go 1.26.5
