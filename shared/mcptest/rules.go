package mcptest

// Ours is where every module of the project lives; Shared is the one that the
// servers have in common.
const (
	Ours   = "github.com/multiollama/mcp-server"
	Shared = Ours + "/shared"
)

// What several packages may not import.
const (
	mcpGo   = "github.com/mark3labs/mcp-go/..."
	logging = "log/..."
)

// The parts that every server has. Each function is the rule of one of them; a server passes the files, so that it says
// what it has and not what is forbidden.

// Connects is main.go's: it ties the parts together and decides nothing.
func Connects(files string) Rule {
	return Rule{
		Files:   files,
		Never:   []string{"os/exec", "net/...", "encoding/json", mcpGo, Shared + "/replace"},
		Because: "main only connects: arguments, environment, standard streams, exit code; deciding about a request belongs to an operation",
	}
}

// Tables is tools.go's: which names, which handlers.
func Tables(files string) Rule {
	return Rule{
		Files:   files,
		Never:   []string{"os/...", "net/...", "encoding/json", "regexp", mcpGo, logging},
		Because: "tools.go is the table of what is offered; logic belongs to an operation's file",
	}
}

// Operations is the rule of the files that hold one operation each.
func Operations(files string, except ...string) Rule {
	return Rule{
		Files:   files,
		Except:  append([]string{"main.go", "tools.go"}, except...),
		Never:   []string{"os/...", "net/...", "io/ioutil", "syscall", "unsafe", "encoding/json", mcpGo, logging, Shared + "/hosts"},
		Because: "an operation reaches files only through confine, and knows nothing of the protocol, JSON, logs or hosts",
	}
}

// Pure is the rule of packages that touch memory only.
func Pure(files string) Rule {
	return Rule{
		Files: files,
		Never: []string{
			"os/...", "net/...", "syscall", "unsafe", "time", "golang.org/x/sys/...",
			mcpGo, logging, Shared + "/confine", Shared + "/toolkit",
		},
		Alone:   true,
		Because: "a pure package touches memory only, so that its tests are tables and its fuzzing is whole",
	}
}

// ReadOnly is the rule of a server that cannot write: the code that changes
// files for a client is not in its binary.
func ReadOnly(files string) Rule {
	return Rule{
		Files:   files,
		Deep:    true,
		Never:   []string{Shared + "/replace", "plugin"},
		Because: "a server that grants reading has no code path that changes a file",
	}
}

// Untested is the rule that keeps test code out of programs.
func Untested(files string) Rule {
	return Rule{
		Files:   files,
		Deep:    true,
		Never:   []string{Shared + "/mcptest", "testing", "github.com/rogpeppe/go-internal/..."},
		Because: "mcptest is for tests; a program that imports it ships a test client",
	}
}
