package guard

// Path is one pattern of what is protected, and why.
type Path struct {
	Pattern string // of the last components of a path, at any depth
	Why     string
}

// Paths are what is protected, for documents and doctor.
func Paths() []Path {
	var rows []Path
	for _, g := range groups {
		for _, pattern := range g.patterns {
			rows = append(rows, Path{pattern, g.why})
		}
	}
	return rows
}

// groups is the table. A row belongs in it if what it names is run, or decides what
// is run, on an occasion at which nobody asks for that: a folder is opened, a shell
// starts, somebody commits or logs in. Not in it, on purpose, since somebody asks for
// them by name: Makefile, package.json, Dockerfile and other build files; sources,
// conftest.py and build.rs among them. Nor .env and .editorconfig, which are data, nor
// AGENTS.md, CLAUDE.md and .cursorrules, which are words that an agent reads.
var groups = []struct {
	why      string
	patterns []string
}{
	{"git runs its hooks and the commands of its configuration", []string{
		".git", "?*.git/hooks", "?*.git/config", ".gitconfig", ".config/git", "etc/gitconfig",
	}},
	{"git fetches and updates submodules as it says (CVE-2018-17456)", []string{".gitmodules"}},
	{"hooks that git runs on every commit", []string{
		".husky", ".githooks", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lefthook.yml",
		"lefthook-local.yml", ".lefthook", ".overcommit.yml",
	}},
	{"another version control starts the programs that it names", []string{".hg", ".hgrc", ".jj", ".config/jj", ".subversion"}},
	{"it runs on another machine with the secrets of the repository; GitHub asks for a permission of its own to change it", []string{
		".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".buildkite", ".travis.yml", "azure-pipelines.yml",
		"Jenkinsfile", ".drone.yml", ".woodpecker", ".woodpecker.yml", ".gitea/workflows", ".forgejo/workflows",
	}},
	{"who may log in by SSH, and commands that run on connecting", []string{".ssh"}},
	{"keys, and the programs that GnuPG starts", []string{".gnupg"}},

	{"a shell runs it when it starts or ends", []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".login", ".logout",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".oh-my-zsh", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc",
		".config/fish", ".config/zsh", ".config/nushell", ".config/powershell", ".config/starship.toml",
		"powershell/*profile.ps1", "windowspowershell/*profile.ps1",
		"etc/profile", "profile.d", "bash.bashrc", "etc/bashrc", "etc/zsh", "etc/zshrc", "etc/zshenv", "etc/zprofile", "etc/fish",
	}},
	{"it sets variables that decide which code programs load", []string{
		".pam_environment", ".config/environment.d", "etc/environment", "environment.d",
	}},
	{"it runs when somebody enters the directory", []string{".envrc", ".direnv", ".config/direnv", ".mise.toml", "mise.toml", ".config/mise"}},

	{"it tells an agent which programs to start as servers, hooks and tools", []string{
		".mcp.json", "mcp.json", "mcp-config.json", "mcp_config.json", ".claude", ".claude.json", "claude_desktop_config.json", ".cursor",
		".gemini",
		".codex", ".codeium", ".windsurf", ".continue", ".roo", ".cline", ".clinerules/hooks", "cline_mcp_settings.json", ".copilot",
		".github/hooks", ".junie", ".kiro", ".amazonq", ".aws/amazonq", ".opencode", "opencode.json", "opencode.jsonc", ".config/opencode",
		".crush",
		"crush.json", ".crush.json", ".config/crush", ".goose", ".config/goose", "block/goose/config", ".qwen", ".lmstudio", ".mcphost.yml",
		".mcphost.json", ".aider.conf.yml", ".trae", ".augment", ".factory", ".agents",
	}},
	{"an editor runs its tasks, or takes from it which programs to start", []string{
		".vscode", "*.code-workspace", ".vscode-server", ".config/code/user", "application support/code/user", "appdata/roaming/code/user",
		".vs", ".idea", ".run", "*.run.xml", ".fleet", ".zed", ".config/zed", ".theia",
	}},
	{"a container is built and commands run on the host when the folder is opened", []string{".devcontainer", ".devcontainer.json"}},
	{"an editor or debugger runs it when it starts", []string{
		".vimrc", "_vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".vim", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs",
		".dir-locals.el",
		".config/helix", ".helix", ".gdbinit", ".gdbearlyinit", ".lldbinit", ".pdbrc",
	}},
	{"an interpreter runs it when it starts", []string{
		".pythonrc", ".pythonrc.py", "sitecustomize.py", "usercustomize.py", "site-packages/*.pth", "dist-packages/*.pth", ".ipython", ".jupyter",
		".irbrc", ".pryrc", ".rprofile", ".renviron", ".octaverc", ".julia/config", ".ghci", ".iex.exs",
		".psqlrc", ".sqliterc", ".mongorc.js", ".mongoshrc.js",
	}},
	{"a terminal or multiplexer runs commands from it", []string{
		".tmux.conf", ".config/tmux", ".screenrc", ".inputrc", ".config/kitty", ".config/alacritty", ".config/wezterm", ".wezterm.lua",
		".config/ghostty", ".config/zellij",
	}},

	{"a package manager takes from it what to fetch and which program runs scripts", []string{
		".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs", ".pnpmfile.js", ".pnp.cjs", ".bunfig.toml",
		"bunfig.toml",
		".pip", "pip.conf", "pip.ini", ".config/pip", ".config/uv", ".condarc", ".gemrc", ".bundle", ".cargo", ".config/go/env",
		".gradle", "gradle/wrapper", ".mvn", ".m2", ".config/composer", "nuget.config", ".config/nix", "etc/nix", "etc/apt",
	}},
	{"a client starts the helpers and plugins that it names", []string{
		".docker/config.json", ".docker/cli-plugins", ".config/containers", ".kube/config", ".aws/config", ".aws/credentials", ".terraformrc",
		".config/gh", ".wgetrc", ".mailcap", ".lessfilter",
	}},
	{"programs in it are found by their name alone", []string{".local/bin"}},

	{"the desktop starts it at log-in, or offers it by a click", []string{
		".config/autostart", "etc/xdg/autostart", ".local/share/applications", ".local/share/dbus-1", ".xinitrc", ".xsession", ".xsessionrc",
		".xprofile", ".xserverrc",
		".config/plasma-workspace", ".config/i3", ".config/sway", ".config/hypr", ".config/openbox", ".config/awesome", ".config/bspwm",
	}},
	{"systemd starts it", []string{".config/systemd", ".local/share/systemd", "etc/systemd", "lib/systemd"}},
	{"macOS starts it", []string{"launchagents", "launchdaemons", "library/startupitems", ".hammerspoon"}},
	{"Windows starts it at log-in, or when a disk is put in", []string{"start menu/programs/startup", "system32/tasks", "autorun.inf"}},
	{"cron runs it", []string{
		"crontab", "crontabs", "anacrontab", "cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly", "spool/cron", "spool/at",
	}},
	{"the system starts it", []string{
		"init.d", "rc.d", "rc.local", "inittab", "udev/rules.d", "modprobe.d", "update-motd.d", "networkmanager/dispatcher.d",
	}},
	{"the loader puts the libraries it names into every program", []string{"ld.so.preload", "ld.so.conf", "ld.so.conf.d"}},
	{"it says who may become root, or log in", []string{
		"sudoers", "sudoers.d", "doas.conf", "polkit-1", "pam.d", "pam.conf", "etc/passwd", "etc/shadow", "etc/group", "etc/gshadow",
	}},
}
