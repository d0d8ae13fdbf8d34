module github.com/multiollama/mcp-server/file-write

go 1.26.5

require github.com/multiollama/mcp-server/shared v0.0.0

replace github.com/multiollama/mcp-server/shared => ../shared

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/sys v0.50.0
	golang.org/x/text v0.44.0
)

require (
	github.com/gabriel-vasile/mimetype v1.4.16 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
