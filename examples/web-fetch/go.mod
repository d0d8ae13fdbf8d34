module github.com/multiollama/mcp-server/examples/web-fetch

go 1.26.5
