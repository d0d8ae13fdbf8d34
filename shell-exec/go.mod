module github.com/multiollama/mcp-server/shell-exec

go 1.26.5

require github.com/multiollama/mcp-server/shared v0.0.0

replace github.com/multiollama/mcp-server/shared => ../shared

require (
	github.com/pelletier/go-toml/v2 v2.4.3
	mvdan.cc/sh/v3 v3.14.1
)

require golang.org/x/sys v0.50.0 // indirect
