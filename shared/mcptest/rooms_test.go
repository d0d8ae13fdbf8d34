package mcptest

import "testing"

// The rooms of the shared module, one rule a line, and why.
func TestEveryRoomTouchesOnlyWhatItMay(t *testing.T) {
	rules := []Rule{
		{Room: "fault/*.go", Never: []string{Ours + "/..."},
			Because: "fault is beneath everything, and imports nothing of ours"},
		{Room: "glob/*.go", Never: []string{"os/...", "path/filepath", "time", "sync/...", mcpGo}, Alone: true,
			Because: "a pattern is matched in memory and in linear time"},
		Pure("text/*.go"),
		{Room: "confine/*.go", Never: []string{"os/exec", "net/http", "encoding/json", mcpGo, logging, Shared + "/toolkit", Shared + "/audit", Shared + "/text"},
			Because: "confine opens names beneath the allowed directories and touches nothing else"},
		{Room: "restrict/*.go", Never: []string{"encoding/json", mcpGo, logging, Shared + "/confine", Shared + "/toolkit"},
			Because: "restrict gives up rights of the process and decides nothing"},
		{Room: "audit/*.go", Never: []string{"os/exec", "net/...", mcpGo, Shared + "/toolkit", Shared + "/confine"},
			Because: "audit writes down what it is told and knows no protocol"},
		{Room: "toolkit/*.go", Except: []string{"call.go"} /* asks for its process id */, Never: []string{"os/...", "syscall", Shared + "/confine", Shared + "/stdio", Shared + "/command"},
			Because: "toolkit deals in requests and results; files and processes belong to operations"},
		{Room: "stdio/*.go", Never: []string{"os/exec", "net/...", Shared + "/confine", Shared + "/audit", Shared + "/toolkit"},
			Because: "stdio carries messages over the streams it is given and looks no further into them than it must"},
		{Room: "settings/*.go", Never: []string{"os/exec", "net/...", mcpGo, Shared + "/toolkit", Shared + "/confine"},
			Because: "settings turn flags, environment and file into values; using them belongs to others"},
		{Room: "fault/*.go glob/*.go text/*.go confine/*.go restrict/*.go audit/*.go settings/*.go command/*.go mcptest/*.go",
			Except:  []string{"call.go"}, // of command: it prints a result, which has mcp-go's type
			Never:   []string{mcpGo},
			Because: "only toolkit and the transports know the protocol's library"},
		Untested("fault/*.go glob/*.go text/*.go confine/*.go restrict/*.go audit/*.go settings/*.go stdio/*.go toolkit/*.go command/*.go"),
	}
	Imports(t, rules...)
}
