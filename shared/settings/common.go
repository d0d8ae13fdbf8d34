package settings

// Common are the flags that every server has, in the order of its help. A
// server puts its own behind them.
func Common() []Flag {
	return []Flag{
		{Name: "allow-path", Kind: List, Dir: true, Default: ".",
			Doc: "a directory that may be touched; without one, the directory the server was started in"},
		{Name: "deny-path", Kind: Globs,
			Doc: "what may not be touched though it lies beneath an allowed directory"},
		{Name: "deny-secrets", Kind: Bool, Default: "false",
			Doc: "deny .env files, private keys and credential files as well"},
		{Name: "vocabulary", Kind: Text, Default: "standard",
			Doc: "under which names the tools are offered"},
		{Name: "toolsets", Kind: List,
			Doc: "offer the tools of these sets only; without it, all"},
		{Name: "symlinks", Kind: Choice, Choices: []string{"reject", "within"}, Default: "reject",
			Doc: "refuse every symbolic link, or follow those that stay inside the allowed directories"},
		{Name: "follow-roots", Kind: Bool, Default: "false",
			Doc: "narrow the allowed directories to the host's MCP roots as well"},
		{Name: "rate-limit", Kind: Rate, Default: "off",
			Doc: "calls allowed per client, such as 10/1m"},
		{Name: "audit-log", Kind: Text, Dir: true, Choices: []string{"auto", "stderr", "off"}, Default: "auto",
			Doc: "where audit events go; auto is mcp-server/audit/<server>.jsonl in the user's state directory ($XDG_STATE_HOME)"},
		{Name: "audit-required", Kind: Bool, Default: "false",
			Doc: "refuse a call whose audit event cannot be stored"},
		{Name: "transport", Kind: Choice, Choices: []string{"stdio", "http"}, Default: "stdio",
			Doc: "how the server is reached; http is not available yet"},
		{Name: "results", Kind: Choice, Choices: []string{"both", "text"}, Default: "both",
			Doc: "answer structured content and text, or text only"},
		{Name: "hide-paths", Kind: Bool, Default: "false",
			Doc: "error texts show no path of this machine but the caller's own words"},
		{Name: "restrict", Kind: Choice, Choices: []string{"auto", "required", "off"}, Default: "auto",
			Doc: "give up what the server does not need by means of the kernel: where it can, or else do not start"},
		{Name: "log-level", Kind: Level, Default: "warn",
			Doc: "diagnostics on stderr"},
		{Name: "config", Kind: Text, Dir: true,
			Doc: "a TOML file with any of these settings under the same names"},
	}
}
