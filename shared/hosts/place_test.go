package hosts_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/hosts"
)

// machine is a system on which nothing exists but there.
func machine(goos string, environ []string, there ...string) hosts.System {
	dir := "/home/ada/project"
	if goos == "windows" {
		dir = `C:\Users\ada\project`
	}
	return hosts.System{OS: goos, Environ: environ, Dir: dir, Exists: func(path string) bool { return slices.Contains(there, path) }}
}

var (
	linux   = []string{"HOME=/home/ada"}
	darwin  = []string{"HOME=/Users/ada"}
	windows = []string{`USERPROFILE=C:\Users\ada`, `appdata=C:\Users\ada\AppData\Roaming`}
)

func TestEveryHostHasItsFileOnEverySystem(t *testing.T) {
	const code = "/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
	for _, c := range []struct{ host, linux, darwin, windows string }{
		{"claude-desktop", "/home/ada/.config/Claude/claude_desktop_config.json", "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json", `C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json`},
		{"claude-code", "/home/ada/.claude.json", "/Users/ada/.claude.json", `C:\Users\ada\.claude.json`},
		{"vscode", "/home/ada/.config/Code/User/mcp.json", "/Users/ada/Library/Application Support/Code/User/mcp.json", `C:\Users\ada\AppData\Roaming\Code\User\mcp.json`},
		{"visual-studio", "", "", `C:\Users\ada\.mcp.json`},
		{"cursor", "/home/ada/.cursor/mcp.json", "/Users/ada/.cursor/mcp.json", `C:\Users\ada\.cursor\mcp.json`},
		{"windsurf", "/home/ada/.codeium/windsurf/mcp_config.json", "/Users/ada/.codeium/windsurf/mcp_config.json", `C:\Users\ada\.codeium\windsurf\mcp_config.json`},
		{"codex", "/home/ada/.codex/config.toml", "/Users/ada/.codex/config.toml", `C:\Users\ada\.codex\config.toml`},
		{"gemini-cli", "/home/ada/.gemini/settings.json", "/Users/ada/.gemini/settings.json", `C:\Users\ada\.gemini\settings.json`},
		{"goose", "/home/ada/.config/goose/config.yaml", "/Users/ada/.config/goose/config.yaml", `C:\Users\ada\AppData\Roaming\Block\goose\config\config.yaml`},
		{"zed", "/home/ada/.config/zed/settings.json", "/Users/ada/.config/zed/settings.json", `C:\Users\ada\AppData\Roaming\Zed\settings.json`},
		{"lm-studio", "/home/ada/.lmstudio/mcp.json", "/Users/ada/.lmstudio/mcp.json", `C:\Users\ada\.lmstudio\mcp.json`},
		{"cline", "/home/ada/.config/Code" + code, "/Users/ada/Library/Application Support/Code" + code, `C:\Users\ada\AppData\Roaming\Code\User\globalStorage\saoudrizwan.claude-dev\settings\cline_mcp_settings.json`},
		{"continue", "/home/ada/.continue/config.yaml", "/Users/ada/.continue/config.yaml", `C:\Users\ada\.continue\config.yaml`},
		{"opencode", "/home/ada/.config/opencode/opencode.json", "/Users/ada/.config/opencode/opencode.json", `C:\Users\ada\.config\opencode\opencode.json`},
		{"junie", "/home/ada/.junie/mcp/mcp.json", "/Users/ada/.junie/mcp/mcp.json", `C:\Users\ada\.junie\mcp\mcp.json`},
		{"copilot-cli", "/home/ada/.copilot/mcp-config.json", "/Users/ada/.copilot/mcp-config.json", `C:\Users\ada\.copilot\mcp-config.json`},
		{"kiro", "/home/ada/.kiro/settings/mcp.json", "/Users/ada/.kiro/settings/mcp.json", `C:\Users\ada\.kiro\settings\mcp.json`},
		{"crush", "/home/ada/.config/crush/crush.json", "/Users/ada/.config/crush/crush.json", `C:\Users\ada\.config\crush\crush.json`},
		{"mcphost", "/home/ada/.mcphost.json", "/Users/ada/.mcphost.json", `C:\Users\ada\.mcphost.json`},
		{"antigravity", "/home/ada/.gemini/antigravity/mcp_config.json", "/Users/ada/.gemini/antigravity/mcp_config.json", `C:\Users\ada\.gemini\antigravity\mcp_config.json`},
		{"jetbrains", "", "", ""},
	} {
		for goos, want := range map[string]string{"linux": c.linux, "darwin": c.darwin, "windows": c.windows} {
			s := machine(goos, map[string][]string{"linux": linux, "darwin": darwin, "windows": windows}[goos])
			got, err := host(t, c.host).File(s, false, "file-read")
			if got != want || (err != nil) != (want == "") {
				t.Errorf("%s on %s: %q, %v, want %q", c.host, goos, got, err, want)
			}
		}
	}
}

func TestWhatIsThereDecidesBetweenFiles(t *testing.T) {
	for _, c := range []struct {
		what, host string
		environ    []string
		there      []string
		project    bool
		want       string
	}{
		{"the older file, where it is alone", "mcphost", linux, []string{"/home/ada/.mcphost.yml"}, false, "/home/ada/.mcphost.yml"},
		{"the first, where both are", "mcphost", linux, []string{"/home/ada/.mcphost.yml", "/home/ada/.mcphost.json"}, false, "/home/ada/.mcphost.json"},
		{"the one whose directory is there", "lm-studio", linux, []string{"/home/ada/.cache/lm-studio"}, false, "/home/ada/.cache/lm-studio/mcp.json"},
		{"the one for a command line", "cline", linux, []string{"/home/ada/.cline"}, false, "/home/ada/.cline/mcp.json"},
		{"another directory of configuration", "zed", append(linux, "XDG_CONFIG_HOME=/cfg"), nil, false, "/cfg/zed/settings.json"},
		{"a relative one is ignored", "zed", append(linux, "XDG_CONFIG_HOME=cfg"), nil, false, "/home/ada/.config/zed/settings.json"},
		{"a home of the host", "codex", append(linux, "CODEX_HOME=/codex"), nil, false, "/codex/config.toml"},
		{"another home of the host", "claude-code", append(linux, "CLAUDE_CONFIG_DIR=/claude"), nil, false, "/claude/.claude.json"},
		{"the project's", "claude-code", append(linux, "CLAUDE_CONFIG_DIR=/claude"), nil, true, "/home/ada/project/.mcp.json"},
		{"the project's, by name", "continue", linux, nil, true, "/home/ada/project/.continue/mcpServers/file-read.yaml"},
		{"the extension's, though it is not confirmed", "roo", linux, nil, false, "/home/ada/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := host(t, c.host).File(machine("linux", c.environ, c.there...), c.project, "file-read")
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAFileIsNotGuessed(t *testing.T) {
	for _, c := range []struct {
		host    string
		goos    string
		environ []string
		project bool
		want    fault.Code
	}{
		{"cursor", "linux", nil, false, fault.Misconfigured},
		{"claude-desktop", "windows", []string{`USERPROFILE=C:\`}, false, fault.Misconfigured},
		{"jetbrains", "linux", linux, false, fault.Unavailable},
		{"windsurf", "linux", linux, true, fault.Unavailable},
		{"visual-studio", "linux", linux, false, fault.Unavailable},
	} {
		if path, err := host(t, c.host).File(machine(c.goos, c.environ), c.project, "x"); !errors.Is(err, c.want) {
			t.Errorf("%s: %q, %v", c.host, path, err)
		}
	}
}

func TestAHostIsHereWhereItsFileOrItsDirectoryIs(t *testing.T) {
	for _, c := range []struct {
		host, there string
		want        bool
	}{
		{"zed", "/home/ada/.config/zed", true}, {"zed", "/home/ada/.config", false}, {"claude-code", "/home/ada", false},
		{"claude-code", "/home/ada/.claude.json", true}, {"jetbrains", "/home/ada", false},
	} {
		if got := host(t, c.host).Here(machine("linux", linux, c.there)); got != c.want {
			t.Errorf("%s, with %s: %v", c.host, c.there, got)
		}
	}
}
