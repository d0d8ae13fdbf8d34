package hosts

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// Host is a program that starts MCP servers: where its configuration is, what
// a server looks like in it, and what else one should know. A path that could not
// be confirmed says so.
type Host struct {
	Name  string
	Title string
	Note  string // what to heed; empty: nothing

	where  []place
	dialog string // where to paste the entry, for a host without a file
	// moved names a variable with the path that replaces a directory of where.
	moved  moved
	shapes []shape              // the first is for a new file
	head   func(Entry) tree     // members before the entry, in a file of its own
	run    func(Entry) []string // a command that registers the server instead
	link   func(Entry) string   // a link that registers the server instead
	// expands is what begins a reference that the host replaces within values;
	// none of them has a way to write it literally.
	expands string
}

// Entry is what a host needs to know about a server.
type Entry struct {
	Name    string // in the host
	Program string // the server's own name, by which an entry of it is known
	Command string // absolute path of the binary
	Args    []string
}

// shape is how a file holds servers: under which keys, outermost first, and
// what one of them is. In a list each has its name as a member.
type shape struct {
	under []string
	list  bool
	entry func(Entry) tree
}

// All is the table.
func All() []Host { return slices.Clone(table) }

// table is known from the hosts' public documentation, November 2026. Nothing
// changes it.
var table = []Host{
	{
		Name: "claude-desktop", Title: "Claude Desktop",
		where: []place{
			{os: "darwin", path: "~/Library/Application Support/Claude/claude_desktop_config.json"},
			{os: "windows", path: `%APPDATA%\Claude\claude_desktop_config.json`},
			{path: "~/.config/Claude/claude_desktop_config.json"},
		},
		shapes: beneath("mcpServers", common),
		Note:   "Restart Claude Desktop afterwards. It ends a call after about a minute",
	},
	{
		Name: "claude-code", Title: "Claude Code",
		where:  []place{{path: "~/.claude.json"}, {path: ".mcp.json", project: true}},
		moved:  moved{"CLAUDE_CONFIG_DIR", "~"},
		shapes: beneath("mcpServers", typed("stdio")), expands: "${",
		run: func(e Entry) []string {
			return append([]string{"claude", "mcp", "add", "--scope", "user", e.Name, "--", e.Command}, e.Args...)
		},
	},
	{
		Name: "vscode", Title: "VS Code",
		where: []place{
			{os: "darwin", path: "~/Library/Application Support/Code/User/mcp.json"},
			{os: "windows", path: `%APPDATA%\Code\User\mcp.json`},
			{path: "~/.config/Code/User/mcp.json"},
			{path: ".vscode/mcp.json", project: true},
		},
		shapes: beneath("servers", typed("stdio")), expands: "${",
		run:  func(e Entry) []string { return []string{"code", "--add-mcp", compact(named(e))} },
		link: func(e Entry) string { return "vscode:mcp/install?" + percent(compact(named(e))) },
		Note: "VS Code approves by itself what a server does that it runs in its own sandbox",
	},
	{
		Name: "visual-studio", Title: "Visual Studio",
		where:  []place{{os: "windows", path: `%USERPROFILE%\.mcp.json`}, {path: ".mcp.json", project: true}},
		shapes: beneath("servers", typed("stdio")),
	},
	{
		Name: "cursor", Title: "Cursor",
		where:  []place{{path: "~/.cursor/mcp.json"}, {path: ".cursor/mcp.json", project: true}},
		shapes: beneath("mcpServers", common), expands: "${",
		link: func(e Entry) string { return installLink("https://cursor.com/en/install-mcp", e) },
	},
	{
		Name: "windsurf", Title: "Windsurf",
		where:  []place{{path: "~/.codeium/windsurf/mcp_config.json"}},
		shapes: beneath("mcpServers", common),
	},
	{
		Name: "codex", Title: "Codex",
		where:  []place{{path: "~/.codex/config.toml"}, {path: ".codex/config.toml", project: true, note: "where Codex trusts it"}},
		moved:  moved{"CODEX_HOME", "~/.codex"},
		shapes: beneath("mcp_servers", common),
		run: func(e Entry) []string {
			return append([]string{"codex", "mcp", "add", e.Name, "--", e.Command}, e.Args...)
		},
		Note: "Codex ends a call after 60 s unless tool_timeout_sec says otherwise",
	},
	{
		Name: "gemini-cli", Title: "Gemini CLI",
		where:  []place{{path: "~/.gemini/settings.json"}, {path: ".gemini/settings.json", project: true}},
		shapes: beneath("mcpServers", common), expands: "$",
	},
	{
		Name: "goose", Title: "goose",
		where: []place{
			{os: "windows", path: `%APPDATA%\Block\goose\config\config.yaml`},
			{path: "~/.config/goose/config.yaml"},
		},
		shapes: beneath("extensions", func(e Entry) tree {
			return tree{{"name", e.Name}, {"type", "stdio"}, {"enabled", true},
				{"cmd", e.Command}, {"args", e.Args}, {"timeout", 300}}
		}),
	},
	{
		Name: "zed", Title: "Zed",
		where:  []place{{os: "windows", path: `%APPDATA%\Zed\settings.json`}, {path: "~/.config/zed/settings.json"}},
		shapes: beneath("context_servers", func(e Entry) tree { return append(tree{{"source", "custom"}}, common(e)...) }),
	},
	{
		Name: "lm-studio", Title: "LM Studio",
		where: []place{
			{path: "~/.lmstudio/mcp.json", note: "not confirmed"},
			{path: "~/.cache/lm-studio/mcp.json", note: "in some versions, not confirmed"},
		},
		shapes: beneath("mcpServers", common),
		link:   func(e Entry) string { return installLink("lmstudio://add_mcp", e) },
	},
	{
		Name: "cline", Title: "Cline",
		where: []place{
			{os: "darwin", path: "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
			{os: "windows", path: `%APPDATA%\Code\User\globalStorage\saoudrizwan.claude-dev\settings\cline_mcp_settings.json`},
			{path: "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
			{os: everywhere, path: "~/.cline/mcp.json", note: "for its command line"},
		},
		shapes: beneath("mcpServers", func(e Entry) tree { return append(common(e), member{"disabled", false}) }),
	},
	{
		Name: "roo", Title: "Roo Code",
		where: []place{
			{os: "darwin", note: "not confirmed",
				path: "~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
			{os: "windows", path: `%APPDATA%\Code\User\globalStorage\rooveterinaryinc.roo-cline\settings\mcp_settings.json`, note: "not confirmed"},
			{path: "~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", note: "not confirmed"},
			{path: ".roo/mcp.json", project: true},
		},
		shapes: beneath("mcpServers", common), expands: "${",
	},
	{
		Name: "continue", Title: "Continue",
		where:  []place{{path: "~/.continue/config.yaml"}, {path: ".continue/mcpServers/NAME.yaml", project: true}},
		shapes: []shape{{under: []string{"mcpServers"}, list: true, entry: named}}, expands: "${",
		head: func(e Entry) tree {
			return tree{{"name", e.Name}, {"version", "1.0.0"}, {"schema", "v1"}}
		},
	},
	{
		Name: "opencode", Title: "opencode",
		where: []place{{path: "~/.config/opencode/opencode.json"}, {path: "opencode.json", project: true}},
		shapes: append(beneath("mcp", func(e Entry) tree { return append(oneCommand(e), member{"enabled", true}) }),
			shape{under: []string{"mcp", "servers"}, entry: oneCommand}),
		expands: "{",
		Note:    "From version 2 on, the entry lies beneath mcp.servers",
	},
	{
		Name: "jetbrains", Title: "JetBrains AI Assistant",
		dialog: "Settings > Tools > AI Assistant > Model Context Protocol, Add, As JSON",
		shapes: beneath("mcpServers", common),
	},
	{
		Name: "junie", Title: "Junie",
		where:  []place{{path: "~/.junie/mcp/mcp.json"}, {path: ".junie/mcp/mcp.json", project: true}},
		shapes: beneath("mcpServers", common),
	},
	{
		Name: "copilot-cli", Title: "GitHub Copilot CLI",
		where:  []place{{path: "~/.copilot/mcp-config.json"}},
		shapes: beneath("mcpServers", func(e Entry) tree { return append(typed("local")(e), member{"tools", []string{"*"}}) }),
	},
	{
		Name: "kiro", Title: "Kiro",
		where:  []place{{path: "~/.kiro/settings/mcp.json"}, {path: ".kiro/settings/mcp.json", project: true}},
		shapes: beneath("mcpServers", common), expands: "${",
	},
	{
		Name: "crush", Title: "crush",
		where:  []place{{path: "~/.config/crush/crush.json"}, {path: ".crush.json", project: true}},
		shapes: beneath("mcp", typed("stdio")), expands: "$",
	},
	{
		Name: "mcphost", Title: "mcphost (ollama)",
		where:  []place{{path: "~/.mcphost.json"}, {path: "~/.mcphost.yml", note: "where it is there"}},
		shapes: beneath("mcpServers", oneCommand), expands: "${",
	},
	{
		Name: "antigravity", Title: "Antigravity",
		where:  []place{{path: "~/.gemini/antigravity/mcp_config.json"}},
		shapes: beneath("mcpServers", common),
	},
}

// Names are the names of all hosts.
func Names() []string {
	var names []string
	for _, h := range All() {
		names = append(names, h.Name)
	}
	return names
}

// under is the shape that nearly all hosts have.
func beneath(key string, entry func(Entry) tree) []shape {
	return []shape{{under: []string{key}, entry: entry}}
}

// common is what most hosts agree on.
func common(e Entry) tree {
	return tree{{"command", e.Command}, {"args", e.Args}}
}

// typed says the kind of transport first.
func typed(kind string) func(Entry) tree {
	return func(e Entry) tree { return append(tree{{"type", kind}}, common(e)...) }
}

// named is for hosts that keep servers in a list.
func named(e Entry) tree {
	return append(tree{{"name", e.Name}}, typed("stdio")(e)...)
}

// oneCommand has the program and its arguments in one list.
func oneCommand(e Entry) tree {
	return tree{{"type", "local"}, {"command", append([]string{e.Command}, e.Args...)}}
}

// installLink is the form of link that takes the entry in base64.
func installLink(base string, e Entry) string {
	return base + "?name=" + percent(e.Name) + "&config=" + percent(base64.StdEncoding.EncodeToString([]byte(compact(common(e)))))
}

// percent escapes everything that means something in a URL. A space becomes
// %20: + means a space in forms only (RFC 3986, section 2.1).
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// Run is a command that registers the server instead; nil: there is none.
func (h Host) Run(e Entry) []string {
	if h.run == nil {
		return nil
	}
	return h.run(e)
}

// Link is a link that registers the server instead; empty: there is none.
func (h Host) Link(e Entry) string {
	if h.link == nil {
		return ""
	}
	return h.link(e)
}

// Snippet is what to paste, which is also the text of a new file.
func (h Host) Snippet(e Entry) string { return h.language("").print(h.whole(e)) }

// whole is a file with nothing but the entry.
func (h Host) whole(e Entry) tree {
	s := h.shapes[0]
	var value any = tree{{e.Name, s.entry(e)}}
	if s.list {
		value = []tree{s.entry(e)}
	}
	out := nestedIn(s.under, value).(tree)
	if h.head != nil {
		out = append(h.head(e), out...)
	}
	return out
}

// Expands is what in e the host would replace, such as "${"; empty: nothing.
func (h Host) Expands(e Entry) string {
	if h.expands != "" && strings.Contains(strings.Join(append([]string{e.Command}, e.Args...), "\x00"), h.expands) {
		return h.expands
	}
	return ""
}
