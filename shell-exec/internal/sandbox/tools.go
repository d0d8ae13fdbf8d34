package sandbox

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// SystemPaths are what programs need to start. A command may read them, and
// start what is in them.
func SystemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc",
		"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
		"/nix/store", "/run/current-system", "/gnu/store", "/snap",
		"/run/systemd/resolve", "/run/resolvconf", "/var/lib/dpkg", "/var/lib/rpm", "/var/cache/ldconfig",
	}
}

// privatePaths are inside of the system's, but not for everybody. The user's rights
// keep commands out of them unless the user is root.
var privatePaths = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/security/opasswd",
	"/etc/ssh", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/private", "/etc/letsencrypt", "/etc/krb5.keytab",
	"/etc/kubernetes", "/etc/rancher", "/etc/docker", "/etc/wireguard", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/ppp",
	"/etc/NetworkManager/system-connections", "/etc/wpa_supplicant", "/etc/netplan", "/etc/cloud",
	"/etc/mysql/debian.cnf", "/etc/exim4/passwd.client", "/etc/postfix/sasl", "/etc/aws", "/etc/boto.cfg",
}

// devicePaths may be read and written. Terminals are not among them: in /dev/pts
// are those that the person works at.
var devicePaths = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// tool is a well-known program of developers.
type tool struct {
	// at are the folders that hold it in the home directory, without its
	// credentials: those lie beside them, and a whole folder would hand them out.
	at string
	// moved are variables that may put such a folder elsewhere, and what in it counts; "." is all.
	moved map[string]string
	// caches are variables that lead what it writes into another directory.
	caches map[string]string
}

// tools are read, never written: what a command puts into a cache would run
// outside of the sandbox later. ToolEnv gives commands caches of their own.
var tools = []tool{
	{ // git
		at: ".gitconfig .config/git/config .config/git/ignore .config/git/attributes",
	},
	{ // Go
		at:     "go/pkg go/bin .cache/go-build sdk .config/go/env .config/go/telemetry .local/go .g .gvm",
		moved:  map[string]string{"GOROOT": ".", "GOMODCACHE": ".", "GOCACHE": ".", "GOPATH": "pkg bin", "GOBIN": "."},
		caches: map[string]string{"GOCACHE": "go-build", "GOTELEMETRYDIR": "go-telemetry"},
	},
	{ // node
		at: `.nvm .volta/bin .volta/tools .fnm .local/share/fnm .nodenv .n .node .bun/bin .bun/install .deno/bin
			.npm/_cacache .npm/_npx .npm-global .npm-packages .cache/node .cache/node-gyp .cache/yarn .cache/pnpm .cache/deno
			.local/share/pnpm .yarn/berry/cache .cache/ms-playwright`,
		moved:  map[string]string{"NVM_DIR": ".", "VOLTA_HOME": "bin tools", "FNM_DIR": ".", "PNPM_HOME": "."},
		caches: map[string]string{"npm_config_cache": "npm", "YARN_CACHE_FOLDER": "yarn", "DENO_DIR": "deno", "BUN_INSTALL_CACHE_DIR": "bun"},
	},
	{ // Python
		at: `.pyenv .local/lib .local/share/uv .local/pipx .local/share/pipx .cache/pip .cache/uv .cache/pypoetry
			.local/share/virtualenv .virtualenvs miniconda3 anaconda3 miniforge3 mambaforge micromamba .conda/pkgs .conda/envs
			.rye/shims .rye/py`,
		moved:  map[string]string{"PYENV_ROOT": ".", "UV_PYTHON_INSTALL_DIR": "."},
		caches: map[string]string{"PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "PYTHONPYCACHEPREFIX": "pycache"},
	},
	{ // Rust
		at:    ".rustup .cargo/bin .cargo/registry .cargo/git .cargo/env .cargo/config.toml .cargo/config .cache/sccache",
		moved: map[string]string{"RUSTUP_HOME": ".", "CARGO_HOME": "bin registry git env config.toml config"},
	},
	{ // Java
		at:    ".sdkman/candidates .jenv .m2/repository .m2/wrapper .gradle/caches .gradle/wrapper .jdks",
		moved: map[string]string{"JAVA_HOME": "."},
	},
	{ // Ruby
		at: ".rbenv .rvm .gem/ruby .local/share/gem/ruby .bundle/cache .rubies",
	},
	{ // others
		at: `.local/bin bin .asdf .local/share/mise .local/state/nix/profiles .nix-profile .linuxbrew .ghcup .cabal/bin .opam
			.elan .dotnet .nuget/packages .local/share/zinit .terminfo .cache/ccache .ccache`,
		caches: map[string]string{"CCACHE_DIR": "ccache"},
	},
}

// toolPaths are the folders of tools that may be read: those in home, and those
// that this process's environment names.
func toolPaths(home string, getenv func(string) string) (out []string) {
	for _, t := range tools {
		for at := range strings.FieldsSeq(t.at) {
			if home != "" {
				out = append(out, filepath.Join(home, at))
			}
		}
		for name, parts := range t.moved {
			dir := getenv(name)
			if !filepath.IsAbs(dir) || contains(dir, home) {
				continue // a tool's folder is never a whole home directory
			}
			for part := range strings.FieldsSeq(parts) {
				out = append(out, filepath.Join(dir, part))
			}
		}
	}
	return out
}

// contains reports whether dir is path or above it.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// ToolEnv is what leads tools that write outside of the workspace into
// directories that a command may write: temp for what is temporary, cache for
// what is worth keeping.
func ToolEnv(temp, cache string) []string {
	out := []string{"TMPDIR=" + temp, "TMP=" + temp, "TEMP=" + temp}
	for _, t := range tools {
		for _, name := range slices.Sorted(maps.Keys(t.caches)) {
			out = append(out, name+"="+filepath.Join(cache, t.caches[name]))
		}
	}
	return out
}
