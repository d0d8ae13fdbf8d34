package effect

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// What a line that is typed at a prompt may leave behind in its shell is a closed list: functions and aliases, which are
// followed, a few harmless options, and variables that have no meaning to a shell. All else steers: it is flagged, and so
// is every later line of that shell.
var (
	// watched variables mean something to bash, dash, busybox, or the line editor of one: how a line is read, what a name
	// in it means, or what runs by itself. A * is any part of a name.
	watched = strings.Fields(`PATH HOME SHELL PWD OLDPWD DIRSTACK IFS CDPATH FPATH ENV BASH* SHELLOPTS POSIXLY_CORRECT PROMPT* PS[0-9]*
		HIST* hist* MAIL MAILPATH MAILCHECK TMOUT FCEDIT COMP_* COMPREPLY FUNCNAME FIGNORE GLOBIGNORE EXECIGNORE HOSTFILE IGNOREEOF ignoreeof
		auto_resume INPUTRC READLINE_* TERM TERMINFO* TERMCAP LC_* LANG LANGUAGE TEXTDOMAIN* NLSPATH LOCPATH GCONV_PATH LD_* DYLD_*`)

	// followed are those that a plain assignment may set: it is remembered.
	followed = strings.Fields("IFS CDPATH")

	// restoring builtins take back the variables that are set before them, in every shell, and run nothing meanwhile.
	restoring = strings.Fields("read echo printf test [ pwd")

	// free builtins leave nothing behind, or what is followed elsewhere.
	free = strings.Fields(`: . [ alias bg break builtin caller cd chdir command continue dirs disown echo eval exit false fg help jobs kill
		logout popd pushd pwd return shift source suspend test times true type ulimit umask unalias`)

	// naming builtins set or unset the variables that they name, which are looked at.
	naming = strings.Fields("declare export getopts local mapfile printf read readarray typeset unset wait")

	// readOnly are variables that a shell does not let anyone assign.
	readOnly = strings.Fields("? $ ! # UID EUID PPID")

	// reserved are words with a grammar of their own. An alias, or of the last ones a function, takes it from them.
	reserved = strings.Fields(`! { } [[ ]] if then else elif fi for while until do done case esac select in function time coproc
		declare export let local nameref readonly typeset`)
)

// harmless arguments of the other builtins, joined by blanks. Those with an empty pattern are asked with any.
var harmless = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for name, pattern := range map[string]string{
		"set":      `(([-+][euxv]+|[-+][euxv]*o (errexit|nounset|pipefail|verbose|xtrace))( |$))*([-+]o|--( .*)?|[^-+\x{E000}-\x{E004} ].*)?`,
		"shopt":    `((-[pqo]+|[a-z_]+)( |$))*`,
		"bind":     `(-[lpPsSvVX]+( |$))*`,
		"complete": `(-p)?`,
		"enable":   `(-[aps]+)?`,
		"hash":     `((-[lrt]+|\w[\w.+-]*)( |$))*`,
		"fc":       `-[lnr]*l[nr]*( -?\d+)*`,
		"history":  `\d*`,
		"trap":     `(-[lp]+( \w+)*|-( \w+)+)?`,
		"exec":     `[^-<>].*`,
		"let":      ``, "readonly": ``, "compgen": ``, "compopt": ``,
	} {
		all[name] = regexp.MustCompile(`(?s)^(` + pattern + `)$`)
	}
	return all
})

// IsBuiltin says that a shell runs the command of that name itself.
func IsBuiltin(name string) bool {
	return harmless()[name] != nil || slices.Contains(free, name) || slices.Contains(naming, name)
}

// steer flags what changes how later lines at the prompt are read, and them with it.
func (r *reader) steer(s *scope, what string, span cmdline.Span) {
	if s.prompt {
		r.steered = true
		r.advise(s, Unreadable, what+" changes how this shell reads or runs what is typed later", `Use a shell of its own: bash -c "…"`, span)
	}
}

// sets is an assignment to a variable. direct says that it is written NAME=value.
func (r *reader) sets(s *scope, name string, direct bool, span cmdline.Span) {
	base, subscript, _ := strings.Cut(name, "[")
	if subscript = strings.TrimSuffix(subscript, "]"); base != name && subscript != "@" && subscript != "*" {
		r.evaluates(s, []string{subscript}, span)
	}
	switch {
	case !s.prompt || direct && slices.Contains(followed, name):
	case name == "PATH" && direct: // whoever agrees to it knows what it is
		r.flag(s, RunHijacked, "PATH decides which programs the names in later lines mean", span)
	case cmdline.HasMark(base):
		r.steer(s, "setting a variable that is not known before", span)
	case cmdline.MatchesAny(watched, base), !direct && isRun(base):
		r.steer(s, "setting "+base, span)
	}
}

// builtin looks at a command that the shell at whose prompt it is typed runs itself.
func (r *reader) builtin(s *scope, c *call) {
	text, words := strings.Join(cmdline.Texts(c.words), " "), c.words
	first := slices.IndexFunc(words, func(w cmdline.Word) bool { return !strings.HasPrefix(w.Text, "-") })
	if c.name == "printf" && first >= 0 {
		words = words[:first+1] // what comes after is printed
		if first == 0 && strings.IndexAny(words[0].Text, hole+gap) != 0 {
			return
		}
	}
	if slices.Contains(naming, c.name) {
		for _, w := range words {
			r.named(s, c.name, w, c.span)
		}
		return
	}
	if pattern := harmless()[c.name]; pattern != nil && (!pattern.MatchString(text) || c.name == "exec" && s.redirected) {
		r.steer(s, strings.TrimSpace(c.name+" "+cmdline.Show(text)), c.span)
	}
	if c.name == "alias" && anyWord(c.words, func(t string) bool { name, _, _ := strings.Cut(t, "="); return cmdline.Unknown(name) }) {
		r.steer(s, "an alias that is not known before", c.span)
	}
}

// declaring options do no more than they say.
var declaring = regexp.MustCompile(`^[-+][xgapAF]+$`)

// named is a word that a builtin may take for a variable to set, or for an option with one in it: -aNAME.
func (r *reader) named(s *scope, builtin string, w cmdline.Word, span cmdline.Span) {
	text, value, assigns := strings.Cut(w.Text, "=")
	if s.grammar == cmdline.Bash && assigns && strings.IndexAny(value, "("+hole+gap) == 0 {
		r.evaluates(s, []string{value}, span) // a list, with subscripts
	}
	option := strings.HasPrefix(text, "-")
	switch {
	case option && slices.Contains([]string{"declare", "typeset", "local", "export"}, builtin):
		if !declaring.MatchString(text) && !(builtin == "export" && text == "-n") {
			r.steer(s, builtin+" "+cmdline.Show(text), span)
		}
	case option:
		for i := range text {
			r.sets(s, text[i:], false, span)
		}
		if (builtin == "mapfile" || builtin == "readarray") && strings.Contains(text, "C") {
			r.steer(s, builtin+" "+text, span)
		}
	case !assigns && builtin == "export" && !cmdline.Unknown(text): // it only passes on what is set
	default:
		r.sets(s, text, assigns, span)
	}
}

// number is a text that arithmetic takes for what it says.
var number = regexp.MustCompile(`^-?([0-9]+|0[xX][0-9a-fA-F]+)?$`)

// evaluates is arithmetic about a text, or about the variable of that name: the shell evaluates what is in it again, and
// runs the substitutions that it finds there.
func (r *reader) evaluates(s *scope, texts []string, span cmdline.Span) {
	if !s.prompt {
		return
	}
	isOther := func(t string) bool { return !number.MatchString(t) }
	for _, t := range texts {
		if syntax.ValidName(t) {
			v := r.lookup(s, t)
			if !slices.ContainsFunc(slices.Concat(v.texts, v.all()), isOther) {
				continue
			}
		}
		if isOther(t) {
			r.advise(s, RunUnknownCode, "arithmetic runs code that it finds in "+cmdline.Show(t), "Assign the number in the same line", span)
		}
	}
}

// recall prepares a scope for a text that is typed at a prompt: what was typed before
// may have changed every variable, and has defined functions and aliases.
func (r *reader) recall(s *scope) {
	s.params = nil
	before, then := newReader(r.around)
	before.recalling, then.params = true, nil
	for _, text := range r.around.Past {
		before.report.Dirs, before.waits = nil, false
		then.vars = &variables{own: map[string]value{}} // what was typed between these texts is not here
		read := cmdline.AtPrompt(text, then.grammar)
		if read == nil {
			before.guarded(then, len(text), func() { read = before.script(then, text) })
		}
		r.lost = r.lost || read != nil || before.report.Unreadable != nil || before.tooBig || before.steered || before.rewrites ||
			len(before.report.Dirs) > 0 && before.waits
		s.splitting = s.splitting || strings.Contains(text, "IFS")
		s.searching = s.searching || strings.Contains(text, "CDPATH")
	}
	for name, f := range then.functions {
		s.functions[name] = function{bodies: f.bodies, past: true}
	}
	for name, a := range then.aliases {
		s.aliases[name] = alias{texts: a.texts, past: true}
	}
}

// ordinary is an alias of words without quotes and expansions, and without a blank at the end, after which the next word
// would be looked up as well.
var ordinary = regexp.MustCompile(`^[a-zA-Z0-9_./:,@%+-]+( +[a-zA-Z0-9_./:,@%+-]+)*$`)

// callAlias puts an alias's text in its place. That is certain only for ordinary words that
// were there before the text was read.
func (r *reader) callAlias(s *scope, c *call, a alias) {
	inner := s.within(c.path.Text)
	inner.aliases = maps.Clone(s.aliases)
	delete(inner.aliases, c.path.Text)
	for _, text := range a.texts {
		words := strings.Fields(text)
		if !a.past || !ordinary.MatchString(text) || slices.ContainsFunc(words, func(w string) bool { return slices.Contains(reserved, w) }) {
			r.advise(s, Alias, "runs an alias that this shell or script makes", "Call the program by its name", c.span)
			continue
		}
		r.call(inner, append(wordsAt(words, c.span), c.words...), c.span)
	}
	s.output.add(inner.output)
	s.dir = inner.dir
}

// promptOptions are those that do not make a shell run anything; with one of readsNothing it reads no files at its start.
var (
	promptOptions = map[string]string{
		"bash": "-i --norc --noprofile --noediting", "sh": "-i", "dash": "-i", "ash": "-i", "ksh": "-i", "mksh": "-i",
		"zsh": "-i -f --no-rcs", "fish": "-i --interactive -N --no-config -P --private",
	}
	readsNothing = []string{"--norc", "-f", "--no-rcs", "-N", "--no-config"}
)

// promptShell is a shell that is started to be typed at: what is typed will be checked.
func (r *reader) promptShell(s *scope, c *call) bool {
	options, known := promptOptions[c.name]
	odd := anyWord(c.words, func(t string) bool { return !slices.Contains(strings.Fields(options), t) })
	if !known || odd || !r.around.Terminal || r.current != 0 || s.input.kind != nothing {
		return false
	}
	quiet := anyWord(c.words, func(t string) bool { return slices.Contains(readsNothing, t) })
	r.flagIf(s, !quiet && c.name != "sh" && c.name != "dash" && c.name != "ash",
		RunFile, c.name+" reads its start-up files, which have not been read here", c.span)
	return true
}

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
var uses = func() map[string]use {
	all := map[string]use{}
	for u, list := range map[use]string{
		prompts: "PS0 PS1 PS2 PS4",
		script:  "PROMPT_COMMAND",
		command: `GIT_SSH_COMMAND GIT_SSH GIT_PAGER PAGER GIT_EDITOR EDITOR VISUAL GIT_EXTERNAL_DIFF GIT_SEQUENCE_EDITOR GIT_ASKPASS
			SSH_ASKPASS SUDO_ASKPASS MANPAGER LESSOPEN LESSCLOSE LESSEDIT BROWSER SYSTEMD_PAGER GIT_PROXY_COMMAND RSYNC_RSH CVS_RSH FCEDIT
			PSQL_EDITOR PSQL_PAGER GH_PAGER GH_EDITOR AWS_PAGER DELTA_PAGER BAT_PAGER CARGO_BUILD_RUSTC_WRAPPER RUSTC_WRAPPER CC_WRAPPER`,
		editing: "EXINIT VIMINIT GVIMINIT LESS",
		loads: `LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV SHELLOPTS BASHOPTS PERL5OPT PERL5DB
			PYTHONSTARTUP PYTHONBREAKPOINT RUBYOPT GCONV_PATH LD_DEBUG_OUTPUT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
			GIT_EXEC_PATH GIT_TEMPLATE_DIR`,
		makes: "MAKEFLAGS GNUMAKEFLAGS",
	} {
		for _, name := range strings.Fields(list) {
			all[name] = u
		}
	}
	return all
}()

// commandNames end the names of variables that hold a command line.
var commandNames = strings.Fields("_RUNNER _LINKER _WRAPPER _COMMAND _CMD _PAGER _EDITOR _HOOK _SHELL _EXEC")

// affects says that a variable matters even where nothing exports it.
func affects(name string) bool { u := uses[name]; return u != 0 && u != editing && u != makes }

// isRun says that programs run, or load, what a variable of that name holds.
func isRun(name string) bool {
	return uses[name] != 0 || slices.ContainsFunc(commandNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

// usual values of variables that name a program: they run it, and that is all.
const usual = " cat less more most vim vi nvim nano emacs code true false delta bat : "

// exported looks at a variable that other programs will see.
func (r *reader) exported(s *scope, name string, v value, span cmdline.Span) {
	u := uses[name]
	if u == 0 && isRun(name) {
		u = command
	}
	hijacks := func(is bool, why string) { r.flagIf(s, is, RunHijacked, why, span) }
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
		case name == "HOME" && r.around.Home != "" && t != r.around.Home:
			s.set("HOME", single(t))
		case name == "NODE_OPTIONS":
			hijacks(containsAny(t, "--require", "-r ", "--import", "--loader"), name+" makes node load code")
		case name == "PYTHONWARNINGS":
			hijacks(strings.Contains(t, "antigravity"), name+" makes python load code")
		case strings.HasPrefix(name, "BASH_FUNC_"):
			hijacks(true, "a function in the environment")
		case strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
			if strings.HasPrefix(t, "!") || strings.ContainsAny(t, "/ ") {
				r.shell(s, cmdline.At(strings.TrimPrefix(t, "!"), span), name)
			}
		case strings.HasPrefix(name, "GIT_CONFIG_KEY_"):
			key := strings.ToLower(t)
			hijacks(commandSetting().MatchString(key) || otherSetting().MatchString(key), "git's "+t+" makes git run a program")
		}
	}
}

// path: a PATH that begins with a directory of others' making runs other programs under the usual names. The
// workspace's own tools are usual.
func (r *reader) path(s *scope, t string, span cmdline.Span) {
	for dir := range strings.SplitSeq(t, ":") {
		others := strings.HasPrefix(dir, "/tmp/") || strings.HasPrefix(dir, "/var/tmp/") || dir == "/tmp" || dir == "/dev/shm"
		r.flagIf(s, others, RunHijacked, "PATH finds programs in "+dir+" first", span)
		if others || strings.HasPrefix(dir, "/usr/") || dir == "/bin" {
			return
		}
	}
}

func (r *reader) used(s *scope, name, t string, u use, span cmdline.Span) {
	_, escaped, escapes := strings.Cut(t, "!")
	switch u {
	case script:
		r.shell(s, cmdline.At(t, span), name)
	case command:
		if t = strings.TrimLeft(t, "|-"); t != "" && !strings.Contains(usual, " "+t+" ") {
			r.shell(s, cmdline.At(t, span), name)
		}
	case editing:
		r.shell(s, cmdline.At(escaped, span), name)
	case makes:
		if _, recipe, ok := strings.Cut(t, "--eval="); ok {
			r.makefile(s, strings.ReplaceAll(recipe, `\ `, " "), span)
		}
	case prompts, loads:
		if hidesCode(t) {
			r.shell(s, cmdline.At(`: "`+t+`"`, span), name)
		}
		if u == prompts {
			return
		}
		if escapes && name == "GIT_CONFIG_PARAMETERS" {
			r.shell(s, cmdline.At(strings.Trim(escaped, `'"`), span), name)
		}
		if known, ok := r.file(s, t); ok {
			r.shellFlow(s, known, nil, name, span)
		}
		r.flagIf(s, t != "/dev/null", RunHijacked, name+" makes other programs load code", span)
	}
}
