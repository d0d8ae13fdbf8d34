module github.com/multiollama/mcp-server/release

go 1.26.5

require (
	github.com/cpuguy83/go-md2man/v2 v2.0.7
	github.com/google/go-cmp v0.7.0
	github.com/multiollama/mcp-server/shared v0.0.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2
)

require (
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/multiollama/mcp-server/shared => ../shared
