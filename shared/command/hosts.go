package command

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// host is one row of the table of programs that start MCP servers: where its
// configuration lies, what a server looks like in it, and what else one should
// know. Known from the hosts' public documentation, November 2026.
type host struct {
	name  string
	title string
	where []place
	under []string // the keys that the entry lies beneath, outermost first
	entry func(entry) tree
	head  func(entry) tree     // members before the entry, in a file of its own
	write func(tree) string    // in the language of the file
	run   func(entry) []string // a command that registers the server instead
	link  func(entry) string   // a link that registers the server instead
	// expands is what begins a reference that the host replaces within values;
	// none of them has a way to write it literally.
	expands string
	note    string
}

// place is a file, or where else to paste the entry. An empty goos is every
// system that has no row of its own.
type place struct{ goos, path string }

// entry is what a host needs to know about a server.
type entry struct {
	name    string
	command string
	args    []string
}

// hosts is the table. Nothing changes it.
var hosts = []host{
	{
		name: "claude-desktop", title: "Claude Desktop",
		where: []place{
			{"darwin", "~/Library/Application Support/Claude/claude_desktop_config.json"},
			{"windows", `%APPDATA%\Claude\claude_desktop_config.json`},
			{"", "~/.config/Claude/claude_desktop_config.json"},
		},
		under: []string{"mcpServers"}, entry: plain, write: asJSON,
		note: "Restart Claude Desktop afterwards. It ends a call after about a minute",
	},
	{
		name: "claude-code", title: "Claude Code",
		where: []place{{"", ".mcp.json in the project, or ~/.claude.json for yourself"}},
		under: []string{"mcpServers"}, entry: typed("stdio"), write: asJSON, expands: "${",
		run: func(e entry) []string {
			return append([]string{"claude", "mcp", "add", "--scope", "user", e.name, "--", e.command}, e.args...)
		},
	},
	{
		name: "vscode", title: "VS Code",
		where: []place{
			{"darwin", ".vscode/mcp.json in the project, or ~/Library/Application Support/Code/User/mcp.json"},
			{"windows", `.vscode\mcp.json in the project, or %APPDATA%\Code\User\mcp.json`},
			{"", ".vscode/mcp.json in the project, or ~/.config/Code/User/mcp.json"},
		},
		under: []string{"servers"}, entry: typed("stdio"), write: asJSON, expands: "${",
		run:  func(e entry) []string { return []string{"code", "--add-mcp", compact(named(e))} },
		link: func(e entry) string { return "vscode:mcp/install?" + percent(compact(named(e))) },
		note: "VS Code approves by itself what a server does that it runs in its own sandbox",
	},
	{
		name: "visual-studio", title: "Visual Studio",
		where: []place{{"", `.mcp.json beside the solution, or %USERPROFILE%\.mcp.json`}},
		under: []string{"servers"}, entry: typed("stdio"), write: asJSON,
	},
	{
		name: "cursor", title: "Cursor",
		where: []place{{"", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON, expands: "${",
		link: func(e entry) string { return installLink("https://cursor.com/en/install-mcp", e) },
	},
	{
		name: "windsurf", title: "Windsurf",
		where: []place{{"", "~/.codeium/windsurf/mcp_config.json"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON,
	},
	{
		name: "codex", title: "Codex",
		where: []place{{"", "~/.codex/config.toml, or .codex/config.toml in a trusted project"}},
		under: []string{"mcp_servers"}, entry: plain, write: asTOML,
		run: func(e entry) []string {
			return append([]string{"codex", "mcp", "add", e.name, "--", e.command}, e.args...)
		},
		note: "Codex ends a call after 60 s unless tool_timeout_sec says otherwise",
	},
	{
		name: "gemini-cli", title: "Gemini CLI",
		where: []place{{"", "~/.gemini/settings.json, or .gemini/settings.json in the project"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON, expands: "$",
	},
	{
		name: "goose", title: "goose",
		where: []place{
			{"windows", `%APPDATA%\Block\goose\config\config.yaml`},
			{"", "~/.config/goose/config.yaml"},
		},
		under: []string{"extensions"}, write: asYAML,
		entry: func(e entry) tree {
			return tree{{"name", e.name}, {"type", "stdio"}, {"enabled", true},
				{"cmd", e.command}, {"args", e.args}, {"timeout", 300}}
		},
	},
	{
		name: "zed", title: "Zed",
		where: []place{{"windows", `%APPDATA%\Zed\settings.json`}, {"", "~/.config/zed/settings.json"}},
		under: []string{"context_servers"}, write: asJSON,
		entry: func(e entry) tree { return append(tree{{"source", "custom"}}, plain(e)...) },
	},
	{
		name: "lm-studio", title: "LM Studio",
		where: []place{{"", "~/.lmstudio/mcp.json (not confirmed: some versions use ~/.cache/lm-studio/mcp.json)"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON,
		link: func(e entry) string { return installLink("lmstudio://add_mcp", e) },
	},
	{
		name: "cline", title: "Cline",
		where: []place{
			{"darwin", "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, or ~/.cline/mcp.json for its command line"},
			{"windows", `%APPDATA%\Code\User\globalStorage\saoudrizwan.claude-dev\settings\cline_mcp_settings.json, or ~/.cline/mcp.json for its command line`},
			{"", "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json, or ~/.cline/mcp.json for its command line"},
		},
		under: []string{"mcpServers"}, write: asJSON,
		entry: func(e entry) tree { return append(plain(e), member{"disabled", false}) },
	},
	{
		name: "roo", title: "Roo Code",
		where: []place{{"", ".roo/mcp.json in the project, or mcp_settings.json of the extension"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON, expands: "${",
	},
	{
		name: "continue", title: "Continue",
		where: []place{{"", ".continue/mcpServers/NAME.yaml in the project, or its mcpServers in ~/.continue/config.yaml"}},
		under: []string{"mcpServers"}, write: asYAML, expands: "${",
		head: func(e entry) tree {
			return tree{{"name", e.name}, {"version", "1.0.0"}, {"schema", "v1"}}
		},
		entry: named,
	},
	{
		name: "opencode", title: "opencode",
		where: []place{{"", "opencode.json in the project, or ~/.config/opencode/opencode.json"}},
		under: []string{"mcp"}, write: asJSON, expands: "{",
		entry: func(e entry) tree { return append(oneCommand(e), member{"enabled", true}) },
		note:  "From version 2 on, the entry lies beneath mcp.servers",
	},
	{
		name: "jetbrains", title: "JetBrains AI Assistant",
		where: []place{{"", "Settings > Tools > AI Assistant > Model Context Protocol, Add, As JSON"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON,
	},
	{
		name: "junie", title: "Junie",
		where: []place{{"", ".junie/mcp/mcp.json in the project, or ~/.junie/mcp/mcp.json"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON,
	},
	{
		name: "copilot-cli", title: "GitHub Copilot CLI",
		where: []place{{"", "~/.copilot/mcp-config.json"}},
		under: []string{"mcpServers"}, write: asJSON,
		entry: func(e entry) tree { return append(typed("local")(e), member{"tools", []string{"*"}}) },
	},
	{
		name: "kiro", title: "Kiro",
		where: []place{{"", ".kiro/settings/mcp.json in the project, or ~/.kiro/settings/mcp.json"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON, expands: "${",
	},
	{
		name: "crush", title: "crush",
		where: []place{{"", ".crush.json in the project, or ~/.config/crush/crush.json"}},
		under: []string{"mcp"}, entry: typed("stdio"), write: asJSON, expands: "$",
	},
	{
		name: "mcphost", title: "mcphost (ollama)",
		where: []place{{"", "~/.mcphost.json"}},
		under: []string{"mcpServers"}, entry: oneCommand, write: asJSON, expands: "${",
	},
	{
		name: "antigravity", title: "Antigravity",
		where: []place{{"", "~/.gemini/antigravity/mcp_config.json"}},
		under: []string{"mcpServers"}, entry: plain, write: asJSON,
	},
}

// plain is what most hosts agree on.
func plain(e entry) tree {
	return tree{{"command", e.command}, {"args", e.args}}
}

// typed says the kind of transport first.
func typed(kind string) func(entry) tree {
	return func(e entry) tree { return append(tree{{"type", kind}}, plain(e)...) }
}

// named is for hosts that keep servers in a list.
func named(e entry) tree {
	return append(tree{{"name", e.name}}, typed("stdio")(e)...)
}

// oneCommand has the program and its arguments in one list.
func oneCommand(e entry) tree {
	return tree{{"type", "local"}, {"command", append([]string{e.command}, e.args...)}}
}

// installLink is the form of link that takes the entry in base64.
func installLink(base string, e entry) string {
	return base + "?name=" + percent(e.name) + "&config=" + percent(base64.StdEncoding.EncodeToString([]byte(compact(plain(e)))))
}

// percent escapes everything that means something in a URL. A space becomes
// %20: + means a space in forms only (RFC 3986, section 2.1).
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// snippet is what to paste.
func (h host) snippet(e entry) string {
	var value any = h.entry(e)
	if h.head != nil {
		value = []tree{h.entry(e)}
	} else {
		value = tree{{e.name, value}}
	}
	for i := len(h.under) - 1; i >= 0; i-- {
		value = tree{{h.under[i], value}}
	}
	out := value.(tree)
	if h.head != nil {
		out = append(h.head(e), out...)
	}
	return h.write(out)
}

// file is where to paste it on that system.
func (h host) file(goos string) string {
	path := ""
	for _, p := range h.where {
		if p.goos == goos || p.goos == "" && path == "" {
			path = p.path
		}
	}
	return path
}
