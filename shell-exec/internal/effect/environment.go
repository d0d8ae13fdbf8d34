package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// use is what other programs do with a variable of their environment.
type use int

const (
	_       use = iota
	prompts     // the shell expands its value: PS4
	script      // the shell runs its value: PROMPT_COMMAND
	command     // a program runs its value: GIT_PAGER
	editing     // an editor runs what follows a ! in its value
	loads       // programs load or run what it names
	makes       // make reads options from it
)

// uses are the variables that make other programs run something.
var uses = usesOf(map[use]string{
	prompts: "PS0 PS1 PS2 PS4",
	script:  "PROMPT_COMMAND",
	command: `GIT_SSH_COMMAND GIT_SSH GIT_PAGER PAGER GIT_EDITOR EDITOR VISUAL GIT_EXTERNAL_DIFF GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS
		SUDO_ASKPASS MANPAGER LESSOPEN LESSCLOSE LESSEDIT BROWSER SYSTEMD_PAGER GIT_PROXY_COMMAND RSYNC_RSH CVS_RSH FCEDIT PSQL_EDITOR
		PSQL_PAGER GH_PAGER GH_EDITOR AWS_PAGER DELTA_PAGER BAT_PAGER CARGO_BUILD_RUSTC_WRAPPER RUSTC_WRAPPER CC_WRAPPER`,
	editing: "EXINIT VIMINIT GVIMINIT LESS",
	loads: `LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV SHELLOPTS BASHOPTS PERL5OPT PERL5DB
		PYTHONSTARTUP PYTHONBREAKPOINT RUBYOPT GCONV_PATH LD_DEBUG_OUTPUT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
		GIT_EXEC_PATH GIT_TEMPLATE_DIR`,
	makes: "MAKEFLAGS GNUMAKEFLAGS",
})

// commandNames end the names of variables that hold a command line.
var commandNames = strings.Fields("_RUNNER _LINKER _WRAPPER _COMMAND _CMD _PAGER _EDITOR _HOOK _SHELL _EXEC")

func usesOf(lists map[use]string) map[string]use {
	all := map[string]use{}
	for u, list := range lists {
		for _, name := range strings.Fields(list) {
			all[name] = u
		}
	}
	return all
}

// affects says that a variable matters even where nothing exports it.
func affects(name string) bool { u := uses[name]; return u != 0 && u != editing && u != makes }

// runs says that programs run, or load, what a variable of that name holds.
func runs(name string) bool {
	return uses[name] != 0 || slices.ContainsFunc(commandNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// usual values of variables that name a program: they run it, and that is all.
const usual = " cat less more most vim vi nvim nano emacs code true false delta bat : "

// exported looks at a variable that other programs will see.
func (r *reader) exported(s *scope, name string, v value, span cmdline.Span) {
	u := uses[name]
	if u == 0 && runs(name) {
		u = command
	}
	for _, t := range slices.Concat(v.texts, v.all()) {
		if t == "" {
			continue
		}
		if u != 0 {
			r.used(s, name, t, u, span)
			continue
		}
		switch {
		case name == "TAR_OPTIONS":
			r.shell(s, cmdline.At("tar "+t, span), name)
		case name == "PATH":
			r.path(s, t, span)
		case name == "HOME" && r.world.Home != "" && t != r.world.Home:
			s.set("HOME", single(t))
		case name == "NODE_OPTIONS" && containsAny(t, "--require", "-r ", "--import", "--loader"):
			r.flag(s, RunHijacked, name+" makes node load code", span)
		case strings.HasPrefix(name, "BASH_FUNC_"):
			r.flag(s, RunHijacked, "a function in the environment", span)
		case name == "PYTHONWARNINGS" && strings.Contains(t, "antigravity"):
			r.flag(s, RunHijacked, name+" makes python load code", span)
		case strings.HasPrefix(name, "GIT_CONFIG_VALUE_") && (strings.HasPrefix(t, "!") || strings.ContainsAny(t, "/ ")):
			r.shell(s, cmdline.At(strings.TrimPrefix(t, "!"), span), name)
		case strings.HasPrefix(name, "GIT_CONFIG_KEY_") && runsCode(strings.ToLower(t)):
			r.flag(s, RunHijacked, "git's "+t+" makes git run a program", span)
		}
	}
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func (r *reader) used(s *scope, name, t string, u use, span cmdline.Span) {
	switch u {
	case prompts:
		if hidesCode(t) {
			r.shell(s, cmdline.At(`: "`+t+`"`, span), name)
		}
	case script:
		r.shell(s, cmdline.At(t, span), name)
	case command:
		if t = strings.TrimLeft(t, "|-"); t != "" && !strings.Contains(usual, " "+t+" ") {
			r.shell(s, cmdline.At(t, span), name)
		}
	case editing:
		if at := strings.IndexByte(t, '!'); at >= 0 {
			r.shell(s, cmdline.At(t[at+1:], span), name)
		}
	case makes:
		if at := strings.Index(t, "--eval="); at >= 0 {
			r.makefile(s, strings.ReplaceAll(t[at+7:], `\ `, " "), span)
		}
	case loads:
		if hidesCode(t) {
			r.shell(s, cmdline.At(`: "`+t+`"`, span), name)
		}
		if at := strings.IndexByte(t, '!'); at >= 0 && name == "GIT_CONFIG_PARAMETERS" {
			r.shell(s, cmdline.At(strings.Trim(t[at+1:], `'"`), span), name)
		}
		if known, ok := r.file(s, t); ok {
			r.shellFlow(s, known, nil, name, span)
		}
		if t != "/dev/null" {
			r.flag(s, RunHijacked, name+" makes other programs load code", span)
		}
	}
}

// path: a PATH that begins with a directory of others' making runs other programs
// under the usual names. The workspace's own tools are usual.
func (r *reader) path(s *scope, t string, span cmdline.Span) {
	for _, dir := range strings.Split(t, ":") {
		if strings.HasPrefix(dir, "/tmp/") || strings.HasPrefix(dir, "/var/tmp/") || dir == "/tmp" || dir == "/dev/shm" {
			r.flag(s, RunHijacked, "PATH finds programs in "+dir+" first", span)
			return
		}
		if strings.HasPrefix(dir, "/usr/") || dir == "/bin" {
			return
		}
	}
}
