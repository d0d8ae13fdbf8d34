package command_test

import (
	"testing"

	"github.com/multiollama/mcp-server/shared/mcptest"
)

func TestWhatServesCannotReachTheConfigurationOfHosts(t *testing.T) {
	mcptest.Imports(t,
		mcptest.Rule{
			Files:   "command/*.go",
			Except:  []string{"config.go", "install.go", "registered.go"},
			Never:   []string{mcptest.Shared + "/hosts"},
			Because: "a host's file is changed by the person who types install or uninstall, never by what serves a client",
		},
		mcptest.Rule{
			Files:   "hosts/*.go",
			Never:   []string{"os/exec", "net", "net/http", mcptest.Shared + "/confine", mcptest.Shared + "/replace", mcptest.Shared + "/toolkit"},
			Because: "the table of hosts knows files of the user, and nothing of clients, programs and networks",
		},
	)
}
