package command_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/multiollama/mcp-server/shared/command"
	"github.com/multiollama/mcp-server/shared/hosts"
)

// languages read what hosts read, with the parsers others wrote.
var languages = map[string]func([]byte, any) error{"json": json.Unmarshal, "toml": toml.Unmarshal, "yaml": yaml.Unmarshal}

// shapes say for every host where in its file the command and its arguments
// stand; no third word means that both are one list. 0 is the first of a list.
var shapes = map[string]struct {
	language, command, args string
}{
	"claude-desktop": {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"claude-code":    {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"vscode":         {"json", "servers/fake-server/command", "servers/fake-server/args"},
	"visual-studio":  {"json", "servers/fake-server/command", "servers/fake-server/args"},
	"cursor":         {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"windsurf":       {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"codex":          {"toml", "mcp_servers/fake-server/command", "mcp_servers/fake-server/args"},
	"gemini-cli":     {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"goose":          {"yaml", "extensions/fake-server/cmd", "extensions/fake-server/args"},
	"zed":            {"json", "context_servers/fake-server/command", "context_servers/fake-server/args"},
	"lm-studio":      {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"cline":          {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"roo":            {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"continue":       {"yaml", "mcpServers/0/command", "mcpServers/0/args"},
	"opencode":       {"json", "mcp/fake-server/command", ""},
	"jetbrains":      {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"junie":          {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"copilot-cli":    {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"kiro":           {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
	"crush":          {"json", "mcp/fake-server/command", "mcp/fake-server/args"},
	"mcphost":        {"json", "mcpServers/fake-server/command", ""},
	"antigravity":    {"json", "mcpServers/fake-server/command", "mcpServers/fake-server/args"},
}

// dig follows keys into what a parser gave.
func dig(t *testing.T, v any, path string) any {
	t.Helper()
	for key := range strings.SplitSeq(path, "/") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			v = at[0]
		default:
			t.Fatalf("nothing lies at %s", path)
		}
	}
	return v
}

// words is the whole command line that a host would start.
func words(t *testing.T, host, snippet string) []string {
	t.Helper()
	shape := shapes[host]
	var file map[string]any
	if err := languages[shape.language]([]byte(snippet), &file); err != nil {
		t.Fatalf("no %s: %v\n%s", shape.language, err, snippet)
	}
	all := []any{dig(t, file, shape.command)}
	if shape.args == "" {
		all = all[0].([]any)
	} else {
		all = append(all, dig(t, file, shape.args).([]any)...)
	}
	line := make([]string, len(all))
	for i, word := range all {
		line[i] = word.(string)
	}
	return line
}

// oddNames are directories that a careless printer breaks.
var oddNames = []string{
	"plain", "with space", " edges ", `"double"`, "'single'", `back\slash`, `ends\`, "$HOME", "${HOME}", "`id`", "a,b", "a:b", "#no comment",
	"日本語", "e\u0301", "😀", "\u2028line", "<&>", "%41", "--allow-path", "{a}", "*",
}

// oddWorld allows one directory with an odd name and lies in another.
func oddWorld(t *testing.T, name string) (w *fixture, want []string) {
	w = newFixture(t)
	w.executable = filepath.Join(w.dir, name, "fake server")
	dir := filepath.Join(w.dir, name)
	return w, []string{w.executable, "--allow-path", dir, "--deny-secrets", "--hide-paths=false"}
}

func TestEveryHostCanReadWhatIsPrinted(t *testing.T) {
	for _, host := range hosts.Names() {
		if _, known := shapes[host]; !known {
			t.Errorf("%s is not tested", host)
			continue
		}
		t.Run(host, func(t *testing.T) {
			for _, name := range oddNames {
				w, want := oddWorld(t, name)
				r := w.must(t, 0, "config", host, "--allow-path", name, "--deny-secrets", "--hide-paths=false")
				got := words(t, host, r.out)
				if !slices.Equal(got, want) {
					t.Errorf("%q became\n%q, want\n%q", name, got, want)
				}
				if !filepath.IsAbs(got[0]) || !filepath.IsAbs(got[2]) {
					t.Errorf("not absolute: %q", got)
				}
				if r.errors == "" {
					t.Error("nobody says where to paste it")
				}
			}
		})
	}
	if len(hosts.Names()) != len(shapes) {
		t.Errorf("%d hosts, %d shapes", len(hosts.Names()), len(shapes))
	}
}

func TestABinaryInADirectoryWithAControlCharacterIsQuoted(t *testing.T) {
	for _, host := range []string{"cursor", "codex", "goose"} {
		w := newFixture(t)
		w.executable = "/odd\u007f\n\tdir/server"
		if got := words(t, host, w.must(t, 0, "config", host).out)[0]; got != w.executable {
			t.Errorf("%s reads %q", host, got)
		}
	}
}

func TestAPathThatIsNoUTF8IsRefused(t *testing.T) {
	w := newFixture(t)
	w.executable = "/bad\xff/server"
	contains(t, "stderr", w.must(t, 2, "config", "cursor").errors, "not UTF-8")
}

func TestARegistrationMeansTheSameWhereverItRuns(t *testing.T) {
	w := newFixture(t)
	w.executable = "/bin/fake"
	w.environ = append(w.environ, "MCP_FAKE_SERVER_RESULTS=text")
	if err := writeFile("c.toml", `symlinks = "within"`); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		args []string
		want []string
	}{
		{"the directory it was started in is named, and what the environment says", nil,
			[]string{"--allow-path", w.dir, "--results", "text"}},
		{"lists are given one by one", []string{"--allow-path", "a", "--allow-path", "b", "--toolsets", "words,files"},
			[]string{"--allow-path", filepath.Join(w.dir, "a"), "--allow-path", filepath.Join(w.dir, "b"), "--toolsets", "words", "--toolsets", "files", "--results", "text"}},
		{"a file is named, not copied", []string{"--config", "c.toml", "--results", "both"},
			[]string{"--allow-path", w.dir, "--results", "both", "--config", filepath.Join(w.dir, "c.toml")}},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := w.must(t, 0, append([]string{"config", "cursor"}, c.args...)...)
			if got := words(t, "cursor", r.out)[1:]; !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAFileThatNamesTheDirectoriesIsEnough(t *testing.T) {
	w := newFixture(t)
	if err := writeFile("c.toml", `allow-path = ["."]`); err != nil {
		t.Fatal(err)
	}
	r := w.must(t, 0, "config", "cursor", "--config", "c.toml")
	if got := words(t, "cursor", r.out)[1:]; !slices.Equal(got, []string{"--config", filepath.Join(w.dir, "c.toml")}) {
		t.Errorf("got %q", got)
	}
}

func TestAServerMayHaveAnotherNameInAHost(t *testing.T) {
	w := newFixture(t)
	contains(t, "stdout", w.must(t, 0, "config", "codex", "--name", "notes").out, "[mcp_servers.notes]")
	for _, name := range []string{"", "a b", "a.b", "-x", "1", "x\ny", strings.Repeat("x", 65)} {
		contains(t, "stderr", w.must(t, 2, "config", "codex", "--name", name).errors, "no name for a server")
	}
}

// line is the rest of the line of stderr that begins with start.
func line(t *testing.T, r ran, start string) string {
	t.Helper()
	for l := range strings.Lines(r.errors) {
		if rest, found := strings.CutPrefix(l, start); found {
			return strings.TrimSuffix(rest, "\n")
		}
	}
	t.Fatalf("no line begins with %q:\n%s", start, r.errors)
	return ""
}

func TestCommandsThatRegisterSurviveAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no POSIX shell")
	}
	for host, program := range map[string]string{"claude-code": "claude", "codex": "codex", "vscode": "code"} {
		for _, name := range oddNames {
			w, want := oddWorld(t, name)
			r := w.must(t, 0, "config", host, "--allow-path", name, "--deny-secrets", "--hide-paths=false")
			script := program + `() { for word in "$@"; do printf '%s\0' "$word"; done; }` + "\n" + line(t, r, "or run: ")
			out, err := exec.Command(sh, "-c", script).Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", host, err, script)
			}
			got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			if host == "vscode" {
				got = fromJSON(t, []byte(got[1]))
			} else {
				got = got[slices.Index(got, "--")+1:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q became %q", host, want, got)
			}
		}
	}
}

// fromJSON is the command line of an entry by itself.
func fromJSON(t *testing.T, raw []byte) []string {
	t.Helper()
	var e struct {
		Command string
		Args    []string
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&e); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return append([]string{e.Command}, e.Args...)
}

func TestLinksThatRegisterSurviveAURL(t *testing.T) {
	for _, host := range []string{"cursor", "lm-studio", "vscode"} {
		for _, name := range oddNames {
			w, want := oddWorld(t, name)
			r := w.must(t, 0, "config", host, "--allow-path", name, "--deny-secrets", "--hide-paths=false")
			link, err := url.Parse(line(t, r, "or open: "))
			if err != nil {
				t.Fatal(err)
			}
			var raw []byte
			if host == "vscode" {
				text, err := url.PathUnescape(link.RawQuery)
				if err != nil {
					t.Fatal(err)
				}
				raw = []byte(text)
			} else if raw, err = base64.StdEncoding.DecodeString(link.Query().Get("config")); err != nil {
				t.Fatal(err)
			}
			if got := fromJSON(t, raw); !slices.Equal(got, want) {
				t.Errorf("%s: %q became %q", host, want, got)
			}
		}
	}
}

func TestAHostThatReplacesVariablesIsWarnedOf(t *testing.T) {
	for host, warned := range map[string]bool{"claude-code": true, "gemini-cli": true, "vscode": true, "windsurf": false, "codex": false} {
		r := newFixture(t).must(t, 0, "config", host, "--allow-path", "${HOME}")
		if strings.Contains(r.errors, "warning: ") != warned {
			t.Errorf("%s: %s", host, r.errors)
		}
	}
}

func TestHostsAreListedWithTheirFilesOnThisSystem(t *testing.T) {
	for goos, want := range map[string][]string{
		"linux":   {"~/.config/Claude/claude_desktop_config.json", "~/.config/goose/config.yaml", "~/.codex/config.toml"},
		"darwin":  {"~/Library/Application Support/Claude/claude_desktop_config.json", "~/.config/goose/config.yaml"},
		"windows": {`%APPDATA%\Claude\claude_desktop_config.json`, `%APPDATA%\Block\goose\config\config.yaml`, "~/.codex/config.toml"},
	} {
		var b bytes.Buffer
		if err := command.ListHosts(&b, goos); err != nil {
			t.Fatal(err)
		}
		contains(t, goos, b.String(), append(want, hosts.Names()...)...)
	}
	contains(t, "config", newFixture(t).must(t, 0, "config").out, "claude-desktop")
}
