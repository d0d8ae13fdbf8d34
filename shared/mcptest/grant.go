package mcptest

import "github.com/multiollama/mcp-server/shared/confine"

// Grant opens what a test lets commands use. It panics where it cannot: also what
// has no test at hand needs it.
func Grant(path string) *confine.Grant {
	g, err := confine.OpenGrant(path, nil)
	if err != nil {
		panic(err)
	}
	return g
}
