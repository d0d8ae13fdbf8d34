package guard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/guard"
	"github.com/multiollama/mcp-server/shared/fault"
)

// protectedBy is the pattern that refuses rel, or "".
func protectedBy(t *testing.T, g guard.Protected, rel string) string {
	t.Helper()
	err := g.Judge(rel)
	if err == nil {
		return ""
	}
	told, _ := fault.From(err).Details["protected"].(map[string]any)
	if !errors.Is(err, fault.Forbidden) || fault.From(err).Details["path"] != rel || told["why"] == "" || !strings.Contains(fault.From(err).Msg, fmt.Sprint(told["why"])) {
		t.Errorf("%q is refused without a reason: %v %v", rel, err, fault.From(err).Details)
	}
	return fmt.Sprint(told["pattern"])
}

func openedPaths(t *testing.T, allow ...string) guard.Protected {
	t.Helper()
	g, err := guard.NewProtected(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestEveryRowOfTheTableProtectsWhatItNames(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range guard.Paths() {
		if seen[row.Pattern] || row.Why == "" {
			t.Errorf("%q stands twice, or without a reason", row.Pattern)
		}
		seen[row.Pattern] = true
		name := strings.NewReplacer("*", "x", "?", "y").Replace(row.Pattern)
		for _, rel := range []string{
			name, "a/b/" + name, name + "/beneath/it", strings.ToUpper(name), name + ".", name + " . ", name + "::$DATA",
			strings.ReplaceAll(name, "s", "\u017f"), strings.ReplaceAll(name, "k", "\u212a"), strings.ReplaceAll(name, "/", "::$INDEX_ALLOCATION/"),
			strings.ReplaceAll(name, "/", ". /"), strings.ReplaceAll(name, "/", "//./"), strings.ReplaceAll(name, "/", `\`), "\u200c" + name,
		} {
			if got := protectedBy(t, guard.Protected{}, rel); got != row.Pattern {
				t.Errorf("%q is protected by %q, want %q", rel, got, row.Pattern)
			}
		}
		if by := protectedBy(t, openedPaths(t, "**/"+row.Pattern), "a/"+name+"/x"); by != "" {
			t.Errorf("%q is not opened by its own pattern: %s protects it", row.Pattern, by)
		}
	}
}

func TestThingsAreProtectedWhateverTheirSpelling(t *testing.T) {
	for _, c := range []struct{ what, rel, by string }{
		{"a hook of git", ".git/hooks/pre-commit", ".git"},
		{"a hook of a submodule", "vendor/x/.git/modules/y/hooks/post-checkout", ".git"},
		{"a hook of a bare repository", "srv/project.git/hooks/update", "?*.git/hooks"},
		{"the file that stands for the directory in a worktree", ".git", ".git"},
		{"other case", ".GIT/config", ".git"},
		{"a short name", "GIT~1/config", ".git"},
		{"a short name that is not the first of its kind", "git~4/config", ".git"},
		{"a short name of six letters", "GITMOD~1", ".gitmodules"},
		{"a short name with a hash, which may be that of several", "GI7EBA~1", ".git"},
		{"a short name with an extension", "MCP~1.JSO", ".mcp.json"},
		{"a short name and a dot", "VSCODE~1./tasks.json", ".vscode"},
		{"a short name on the way", "CONFIG~1/fish/config.fish", ".config/fish"},
		{"a short name of a name with a space", "STARTM~1/Programs/Startup/x", "start menu/programs/startup"},
		{"what HFS+ ignores", ".g\u200cit/config", ".git"},
		{"a stream of a directory", ".git::$INDEX_ALLOCATION/config", ".git"},
		{"a way lexically out again", ".git/../x", ".git"},
		{"a path from the root of the disk", "/home/me/.bashrc", ".bashrc"},
		{"a profile of PowerShell", "Documents/PowerShell/Microsoft.PowerShell_profile.ps1", "powershell/*profile.ps1"},
		{"a path file of Python", "venv/lib/python3.12/site-packages/evil.pth", "site-packages/*.pth"},
		{"a workspace of VS Code", "my.code-workspace", "*.code-workspace"},
		{"the settings of VS Code for a user", "Library/Application Support/Code/User/settings.json", "application support/code/user"},
		{"a launch agent", "Library/LaunchAgents/com.example.plist", "launchagents"},
		{"a unit of the user", ".config/systemd/user/x.service", ".config/systemd"},
		{"a workflow", ".github/workflows/ci.yml", ".github/workflows"},
		{"a table of cron", "var/spool/cron/crontabs/root", "spool/cron"},
	} {
		if got := protectedBy(t, guard.Protected{}, c.rel); got != c.by {
			t.Errorf("%s: %q is protected by %q, want %q", c.what, c.rel, got, c.by)
		}
	}
}

func TestWhatSomebodyRunsByNameIsNotProtected(t *testing.T) {
	for _, rel := range []string{
		".", "", "main.go", "Makefile", "package.json", "Dockerfile", "conftest.py", "build.rs", "CMakeLists.txt", "pyproject.toml",
		".gitignore", ".gitattributes", ".gitkeep", ".env", ".editorconfig", ".prettierrc", ".dockerignore", ".docker/nginx/Dockerfile",
		"AGENTS.md", "CLAUDE.md", ".cursorrules", ".github/ISSUE_TEMPLATE.md", ".github/dependabot.yml", ".config/app/settings.json", ".config", ".local/share/x",
		"git/hooks/x", "hooks/pre-commit", "git", "ssh/config", "vscode/settings.json", "a.git.txt", "src/code/user/a.go", "config.fish", "fish/config.fish",
		"etc/hosts", "passwd", "profile", "docs/cron.md", "weights.pth", "x/.gitx/hooks", "bashrc", "GIT~", "GIT~A", "GOT~1", "g~1", "gitx~1", "MCP~1.TXT", "launch.json",
	} {
		if by := protectedBy(t, guard.Protected{}, rel); by != "" {
			t.Errorf("%q is protected by %q", rel, by)
		}
	}
}

func TestAPatternOpensOneThing(t *testing.T) {
	for _, c := range []struct {
		what, allow string
		open, shut  []string
	}{
		{"a directory by its name, at any depth", ".vscode",
			[]string{".vscode", ".vscode/tasks.json", "a/.vscode/tasks.json", ".VSCode/x"}, []string{".git/config", ".idea/x"}},
		{"but nothing that is protected for itself beneath it", ".vscode",
			nil, []string{".vscode/.git/config", ".vscode/.envrc", ".git/.vscode", ".git/.vscode/x"}},
		{"with a slash at the end", ".vscode/", []string{".vscode/tasks.json"}, []string{".git"}},
		{"everything beneath, said so", ".vscode/**", []string{".vscode/tasks.json", ".vscode/.envrc"}, []string{".vscode", "a/.vscode/x"}},
		{"a file by its path", ".vscode/settings.json", []string{".vscode/settings.json"}, []string{".vscode", ".vscode/tasks.json", "a/.vscode/settings.json"}},
		{"the path begun with a dot", "./.vscode/settings.json", []string{".vscode/settings.json"}, []string{".vscode/tasks.json"}},
		{"a file by its path at any depth", "**/.vscode/settings.json", []string{".vscode/settings.json", "a/b/.vscode/settings.json"}, []string{".vscode/tasks.json"}},
		{"a file by its name", ".npmrc", []string{".npmrc", "a/.npmrc"}, []string{".yarnrc"}},
		{"a name is that of what is protected, not of something in it", "config", nil, []string{".git/config"}},
		{"the last name of what is protected", "workflows", []string{".github/workflows/ci.yml"}, []string{".github/actions/x"}},
		{"workflows by their shape", ".github/workflows/*.yml", []string{".github/workflows/ci.yml"}, []string{".github/workflows/ci.sh", ".github/actions/x.yml", ".github/workflows"}},
		{"the directory above what is protected is not enough", ".github", nil, []string{".github/workflows/ci.yml"}},
		{"unless everything beneath it is meant", ".github/**", []string{".github/workflows/ci.yml", ".github/hooks/x"}, []string{".git/x"}},
		{"a short name stays shut: it may be that of something else", ".git", []string{".git/config"}, []string{"GIT~1/config"}},
		{"what Windows drops is dropped before", ".npmrc", []string{".npmrc.", ".npmrc::$DATA"}, nil},
		{"in either normal form", "cafe\u0301/.npmrc", []string{"caf\u00e9/.npmrc", "CAFE\u0301/.npmrc"}, []string{"cafe/.npmrc"}},
		{"a name of dots is a name", "a/.npmrc", []string{"a/.npmrc", "a/./.npmrc"}, []string{"a/.../.npmrc"}},
		{"everything", "**", []string{".git/config", "a/.ssh/authorized_keys"}, nil},
	} {
		g := openedPaths(t, c.allow)
		for _, rel := range c.open {
			if by := protectedBy(t, g, rel); by != "" {
				t.Errorf("%s: %q does not open %q: %s", c.what, c.allow, rel, by)
			}
		}
		for _, rel := range c.shut {
			if protectedBy(t, g, rel) == "" {
				t.Errorf("%s: %q opens %q", c.what, c.allow, rel)
			}
		}
	}
}

func TestAPatternThatOpensNothingStopsTheStart(t *testing.T) {
	for _, pattern := range []string{"", "[", "./", "/", "/etc/sudoers", "~/.bashrc", "..", "../.npmrc", "a/../.npmrc", strings.Repeat("{a,b}", 30)} {
		if _, err := guard.NewProtected([]string{".npmrc", pattern}); !errors.Is(err, fault.Misconfigured) {
			t.Errorf("%q: %v, want %s", pattern, err, fault.Misconfigured)
		}
	}
}

// FuzzProtectedPaths holds that nothing panics; that a refused path stays refused in any case,
// with what Windows drops, under other directories and with more under it; and that
// a guard that opens one thing never refuses more than one that opens nothing.
func FuzzProtectedPaths(f *testing.F) {
	for _, rel := range []string{".git/config", "GIT~1", "a/.\u017f\u017fh/x", ".mcp.json. .", "CONFIG~1/fish", ".github/workflows/x", "x.run.xml", `a\.npmrc`, "\xff/.git", "..", "~1.~1"} {
		f.Add(rel, ".vscode/**")
	}
	f.Fuzz(func(t *testing.T, rel, allow string) {
		err := guard.Protected{}.Judge(rel)
		if g, newErr := guard.NewProtected([]string{allow}); newErr == nil && err == nil && g.Judge(rel) != nil {
			t.Errorf("%q is refused because %q is open", rel, allow)
		}
		if err == nil {
			return
		}
		for _, other := range []string{
			strings.ToUpper(rel), strings.ToLower(rel), rel + ".", rel + " .", rel + "::$DATA", rel + "\u200d", rel + "/x", "x/" + rel,
		} {
			if (guard.Protected{}).Judge(other) == nil {
				t.Errorf("%q is refused, but %q is not", rel, other)
			}
		}
	})
}
