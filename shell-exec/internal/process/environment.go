package process

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shared/fault"
)

// Environment is what the operator decides about the environment of commands.
type Environment struct {
	Server []string          // the server's own variables, each NAME=value
	Pass   []string          // names to pass in addition to the usual ones; a * is any part of a name
	Set    map[string]string // set for every command
	Path   string            // in place of the server's PATH (LoginPath); "": that one

	// Terminal says that somebody types and looks: nothing is made neutral for want of a person.
	Terminal bool
}

// passed are the variables of the server that commands get.
const passed = "PATH HOME USER LANG LC_* TERM TZ TMPDIR SHELL"

// Build is the complete environment of a command whose caller wishes for the variables given. Later ones win: what passes
// from the server, the neutral ones, those the operator named or set, the caller's.
func (e Environment) Build(given map[string]string) (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fault.New(fault.ParamMalformed, fmt.Sprintf("%q cannot be the name of a variable", name),
				"Use a name without = and NUL").With("parameter", "environment_variables")
		}
		if strings.Contains(value, "\x00") {
			return nil, fault.New(fault.ParamMalformed, fmt.Sprintf("the value of %s holds a NUL", name),
				"Leave it out").With("parameter", "environment_variables")
		}
		for _, row := range refused {
			harmless := row.but != "" && (value == "" || slices.Contains(strings.Fields(row.but), value))
			if matchesAny(strings.Fields(row.names), name) && !harmless {
				return nil, fault.New(fault.Forbidden, fmt.Sprintf("the variable %s may not be set: %s", name, row.because),
					"Set it within the command, where it is judged with it, or leave it out").
					With("parameter", "environment_variables").With("variable", name)
			}
		}
	}
	all := e.server(strings.Fields(passed))
	if e.Path != "" {
		all["PATH"] = e.Path
	}
	if e.Terminal { // somebody sits there
		all["TERM"] = "xterm-256color"
	} else { // programs do not ask, page and color; to have it otherwise, set the variable
		maps.Copy(all, map[string]string{
			"CI": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1", "TERM": "dumb",
		})
	}
	maps.Copy(all, e.server(e.Pass))
	maps.Copy(all, e.Set)
	maps.Copy(all, given)
	if e.Terminal && all["LC_ALL"]+all["LC_CTYPE"]+all["LANG"] == "" {
		all["LANG"] = "C.UTF-8" // a screen shows more than ASCII
	}
	return all, nil
}

// server is the server's variables whose names one of the patterns matches.
func (e Environment) server(patterns []string) map[string]string {
	found := map[string]string{}
	for _, entry := range e.Server {
		name, value, ok := strings.Cut(entry, "=")
		if ok && matchesAny(patterns, name) {
			found[name] = value
		}
	}
	return found
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// Entries is an environment as a command gets it, in the order of names.
func Entries(environment map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		all = append(all, name+"="+environment[name])
	}
	return all
}

// refusal is variables that make programs run or load something, which no command line shows.
type refusal struct {
	names   string // a * is any part of a name
	because string
	but     string // values that do no more than they say
}

// pagers and editors are those that read a file and run nothing of their own accord.
const (
	pagers  = "cat less more most true :"
	editors = "true : cat vi vim nvim nano emacs ed"
)

// refused is what a caller may not set. The operator may, with --pass-env or a value of his own.
var refused = []refusal{
	{"LD_* DYLD_* GLIBC_TUNABLES GCONV_PATH NLSPATH LOCPATH MALLOC_* LIBPATH SHLIB_PATH", "it makes the loader load other code", ""},
	{"PATH", "it decides which programs the names in a command mean", ""},
	{"HOME SHELL XDG_CONFIG_* XDG_DATA_*", "programs read their start-up files by it", ""},
	{"ENV ZDOTDIR BASH* SHELLOPTS FPATH MODULE_PATH KSH_ENV fish_* __fish_*", "it makes the shell run or load a file", ""},
	{"PS[0-9]* RPS[0-9]* PROMPT* RPROMPT* SPROMPT TIMEFMT IFS CDPATH GLOBIGNORE EXECIGNORE FIGNORE POSIXLY_CORRECT NULLCMD " +
		"READNULLCMD STTY OPTIND FUNCNEST TEXTDOMAIN*",
		"it changes what the shell makes of a command", ""},
	{"MAIL MAILPATH MAILCHECK HIST* hist* SAVEHIST TMOUT IGNOREEOF ignoreeof auto_resume COMP_* COMPREPLY HOSTFILE READLINE_* " +
		"KEYTIMEOUT ZLE_* POSTEDIT WATCH WATCHFMT LOGCHECK PERIOD TMPPREFIX DIRSTACK FUNCNAME PWD OLDPWD",
		"it changes what the shell does at its prompt", ""},
	{"TERM",
		"it changes which keys mean what",
		"xterm xterm-color xterm-256color screen screen-256color tmux tmux-256color linux vt100 vt220 ansi dumb"},
	{"GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS",
		"git or ssh runs what it names", ""},
	{"GIT_CONFIG GIT_CONFIG_* GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE " +
		"GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY GIT_ATTR_*",
		"it changes which settings, hooks or repository git uses", ""},
	{"GIT_PAGER PAGER MANPAGER SYSTEMD_PAGER GH_PAGER AWS_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER", "programs run what it names", pagers},
	{"EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GH_EDITOR FCEDIT PSQL_EDITOR SUDO_EDITOR HGEDITOR SVN_EDITOR",
		"programs run what it names", editors},
	{"LESS", "less can be told to run commands by it", "-F -R -X -S -FRX -FR -RX -FX"},
	{"LESSOPEN LESSCLOSE LESSEDIT LESSKEY* BROWSER RSYNC_RSH CVS_RSH SVN_SSH HGMERGE RSYNC_CONNECT_PROG", "programs run what it names", ""},
	{"EXINIT VIMINIT GVIMINIT MYVIMRC EMACSLOADPATH INPUTRC SCREENRC TMUX*", "the editor or terminal runs or loads what it says", ""},
	{"PERL5LIB PERL5OPT PERL5DB PERLLIB PERL_* PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT PYTHONINSPECT " +
		"PYTHONWARNINGS PYTHONUSERBASE PYTHONEXECUTABLE PYTHONPLATLIBDIR",
		"the interpreter loads other code", ""},
	{"RUBYOPT RUBYLIB RUBYSHELL GEM_PATH GEM_HOME BUNDLE_*", "the interpreter loads other code", ""},
	{"NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_EXTRA_CA_CERTS NPM_CONFIG_* npm_config_* YARN_* PNPM_*",
		"node or its tools load other code or settings", ""},
	{"JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH JAVA_HOME MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS " +
		"ANT_OPTS ANT_ARGS SBT_OPTS",
		"the virtual machine loads other code", ""},
	{"LUA_INIT* LUA_PATH* LUA_CPATH* PHPRC PHP_INI_SCAN_DIR R_PROFILE* R_ENVIRON* R_LIBS* GUILE_LOAD_* TCLLIBPATH JULIA_* " +
		"ERL_* ELIXIR_ERL_OPTIONS DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS COR_* CORECLR_*",
		"the interpreter loads other code", ""},
	{"GOFLAGS GOROOT GOTOOLDIR GOENV GOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOINSECURE GOVCS CC CXX CPP LD AR AS CGO_*FLAGS*",
		"the build runs other programs, or trusts other code", ""},
	{"RUSTC RUSTC_* RUSTDOC RUSTFLAGS RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTUP_*_* CARGO CARGO_HOME CARGO_BUILD_* CARGO_TARGET_*_* " +
		"CARGO_ENCODED_RUSTFLAGS CARGO_ALIAS_* CARGO_REGISTR* CC_* CXX_* MAKE MAKEFLAGS MAKEFILES GNUMAKEFLAGS MFLAGS CMAKE_* " +
		"CONFIG_SHELL CONFIG_SITE PKG_CONFIG*",
		"the build runs other programs", ""},
	{"PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE PIP_FIND_LINKS PIP_TRUSTED_HOST PIP_TARGET PIP_PREFIX PIP_REQUIREMENT " +
		"PIP_CONSTRAINT PIP_PROXY PIP_CERT PIP_PYTHON UV_* POETRY_* CONDA_* TAR_OPTIONS GREP_OPTIONS ZIPOPT UNZIP GZIP XZ_OPT " +
		"RIPGREP_CONFIG_PATH CURL_HOME WGETRC SYSTEM_WGETRC",
		"it adds options to a command that nobody sees", ""},
	{"DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT DOCKER_CERT_PATH DOCKER_TLS* CONTAINER_HOST KUBECONFIG PODMAN_* SSH_AUTH_SOCK " +
		"DBUS_* DISPLAY WAYLAND_DISPLAY TMUX STY",
		"it reaches programs that are outside of the sandbox", ""},
	{"OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSLKEYLOGFILE KRB5_CONFIG GSS_* SASL_* TERMINFO TERMINFO_DIRS TERMCAP " +
		"TERMPATH HOSTALIASES RES_OPTIONS PROJ_LIB GDAL_* MAGICK_* QT_PLUGIN_PATH GTK_MODULES GTK_PATH GIO_* GST_PLUGIN_*",
		"libraries load other code or settings", ""},
}
