package shown

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/multiollama/mcp-server/shared/hosts"
	"github.com/multiollama/mcp-server/shared/mcptest"
)

// grants are what the configurations give each server: one project, nothing secret in it,
// and no network for commands.
var grants = map[string][]string{
	"file-read":  {"--allow-path", you + "/project", "--deny-secrets"},
	"file-write": {"--allow-path", you + "/project", "--deny-secrets"},
	"shell-exec": {"--allow-path", you + "/project", "--network=false"},
}

// registration is one file of configs/: which host it is for, where a host keeps it, and
// the key that servers lie under. A % in the name stands for a server: one file each.
type registration struct {
	host, file, goes, under string
	shared                  []string // what a file that a team shares says instead of its paths
}

var registrations = []registration{
	{"claude-desktop", "claude_desktop_config.json", "`~/Library/Application Support/Claude/` (macOS), `%APPDATA%\\Claude\\` (Windows), `~/.config/Claude/` (Linux)", "mcpServers", nil},
	{"claude-code", ".mcp.json", "the project; servers of your own: `~/.claude.json`", "mcpServers",
		[]string{you + "/project", "${CLAUDE_PROJECT_DIR:-.}", you, "${HOME}"}},
	{"vscode", "mcp.json", "`.vscode/` of the project; your own: `MCP: Open User Configuration`", "servers",
		[]string{you + "/project", "${workspaceFolder}", you, "${userHome}"}},
	{"visual-studio", ".mcp.json", "beside the solution, or `%USERPROFILE%`", "servers", nil},
	{"cursor", "mcp.json", "`.cursor/` of the project; your own: `~/.cursor/`", "mcpServers",
		[]string{you + "/project", "${workspaceFolder}", you, "${env:HOME}"}},
	{"windsurf", "mcp_config.json", "`~/.codeium/windsurf/`", "mcpServers", nil},
	{"codex", "config.toml", "`~/.codex/`, or `.codex/` of a trusted project", "mcp_servers", nil},
	{"gemini-cli", "settings.json", "`~/.gemini/`, or `.gemini/` of the project", "mcpServers", nil},
	{"goose", "config.yaml", "`~/.config/goose/`, `%APPDATA%\\Block\\goose\\config\\` (Windows)", "extensions", nil},
	{"zed", "settings.json", "`~/.config/zed/`", "context_servers", nil},
	{"lm-studio", "mcp.json", "`~/.lmstudio/` (not confirmed: some versions `~/.cache/lm-studio/`)", "mcpServers", nil},
	{"cline", "cline_mcp_settings.json", "the settings of the extension: MCP Servers, Configure", "mcpServers", nil},
	{"roo", "mcp.json", "`.roo/` of the project", "mcpServers", nil},
	{"continue", "%.yaml", "`.continue/mcpServers/` of the project", "mcpServers", nil},
	{"opencode", "opencode.json", "the project, or `~/.config/opencode/`", "mcp", nil},
	{"jetbrains", "mcp.json", "pasted in Settings, Tools, AI Assistant, Model Context Protocol", "mcpServers", nil},
	{"junie", "mcp.json", "`.junie/mcp/` of the project, or `~/.junie/mcp/`", "mcpServers", nil},
	{"copilot-cli", "mcp-config.json", "`~/.copilot/`", "mcpServers", nil},
	{"kiro", "mcp.json", "`.kiro/settings/` of the project, or `~/.kiro/settings/`", "mcpServers", nil},
	{"crush", ".crush.json", "the project, or `~/.config/crush/crush.json`", "mcp", nil},
	{"mcphost", ".mcphost.json", "`~`", "mcpServers", nil},
	{"antigravity", "mcp_config.json", "`~/.gemini/antigravity/`", "mcpServers", nil},
}

func TestEveryHostHasTheFileThatInstallWrites(t *testing.T) {
	for i, h := range hosts.All() {
		r := registrations[i]
		texts := map[string][]byte{}
		for _, s := range servers {
			file := strings.ReplaceAll(r.file, "%", s.name)
			before, err := h.Parse(file, texts[file])
			if err != nil {
				t.Fatal(err)
			}
			if texts[file], err = before.Put(entryFor(s.name), false); err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
		}
		for file, text := range texts {
			mcptest.Golden(t, filepath.Join("../configs", r.host, file), strings.NewReplacer(r.shared...).Replace(string(text)))
		}
	}
}

// entryFor is a server as the hosts are to start it.
func entryFor(server string) hosts.Entry {
	return hosts.Entry{Name: server, Program: server, Command: you + "/bin/" + server, Args: grants[server]}
}

func TestTheServersPrintTheEntriesThatTheFilesHave(t *testing.T) {
	w := newFixture(t)
	for _, s := range servers {
		args := append([]string{"config", hosts.All()[0].Name}, grants[s.name]...)
		out, err := w.run(you+"/bin/"+s.name, args...)
		if diff := cmp.Diff(hosts.All()[0].Snippet(entryFor(s.name)), w.shown(out)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", s.name, err, diff)
		}
	}
}

func TestNoHostIsForgotten(t *testing.T) {
	var shown []string
	for _, r := range registrations {
		shown = append(shown, r.host)
	}
	if diff := cmp.Diff(hosts.Names(), shown); diff != "" {
		t.Fatal(diff)
	}
	folders, err := os.ReadDir("../configs")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if f.IsDir() && !slices.Contains(shown, f.Name()) {
			t.Errorf("configs/%s is for no host", f.Name())
		}
	}
}

// parsers are the ones that others wrote.
var parsers = map[string]func([]byte, any) error{".json": json.Unmarshal, ".toml": toml.Unmarshal, ".yaml": yaml.Unmarshal}

// started is the command line that a host makes of the entry of a server.
func started(t *testing.T, r registration, server string) []string {
	t.Helper()
	file := filepath.Join("../configs", r.host, strings.ReplaceAll(r.file, "%", server))
	var whole map[string]any
	if err := parsers[filepath.Ext(file)]([]byte(read(t, file)), &whole); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	entry := entryOf(whole[r.under], server)
	var line []string
	for _, key := range []string{"command", "cmd", "args"} {
		switch words := entry[key].(type) {
		case string:
			line = append(line, words)
		case []any:
			for _, word := range words {
				line = append(line, word.(string))
			}
		}
	}
	return line
}

// entryOf finds a server by its key, or in a list by its name.
func entryOf(servers any, name string) map[string]any {
	switch all := servers.(type) {
	case map[string]any:
		entry, _ := all[name].(map[string]any)
		return entry
	case []any:
		for _, e := range all {
			if entry, _ := e.(map[string]any); entry["name"] == name {
				return entry
			}
		}
	}
	return nil
}

func TestEveryConfigurationStartsTheServersAsItSays(t *testing.T) {
	for _, r := range registrations {
		said := slices.Clone(r.shared)
		for i := 0; i+1 < len(said); i += 2 {
			said[i], said[i+1] = said[i+1], said[i] // as the host fills them in
		}
		for _, s := range servers {
			var got []string
			for _, word := range started(t, r, s.name) {
				got = append(got, strings.NewReplacer(said...).Replace(word))
			}
			if diff := cmp.Diff(append([]string{you + "/bin/" + s.name}, grants[s.name]...), got); diff != "" {
				t.Errorf("%s, %s: %s", r.host, s.name, diff)
			}
		}
	}
}

func TestTheServersTakeWhatTheConfigurationsGrant(t *testing.T) {
	w := newFixture(t)
	for _, s := range servers {
		args := append([]string{"doctor", "--json"}, grants[s.name]...)
		out, err := w.run(you+"/bin/"+s.name, args...)
		if err != nil || !strings.Contains(out, w.home+"/project is allowed") {
			t.Errorf("%s %s: %v\n%s", s.name, args, err, out)
		}
	}
}

func TestTheTableOfConfigurationsIsThatOfTheFiles(t *testing.T) {
	var b strings.Builder
	b.WriteString("| host | file | goes to |\n|---|---|---|\n")
	for _, r := range registrations {
		link := r.host + "/" + r.file
		name := r.file
		if strings.Contains(name, "%") {
			link, name = r.host, "one file a server"
		}
		b.WriteString("| `" + r.host + "` | [" + name + "](" + link + ") | " + r.goes + " |\n")
	}
	mcptest.Sections(t, "../configs/README.md", map[string]string{"hosts": b.String()})
}
