package effect

import (
	"path"
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

// watched variables mean something to bash, dash, busybox, or the line editor of one: how a line is read, what a name
// in it means, or what runs by itself. A * stands for any part of a name.
var watched = strings.Fields(`PATH HOME SHELL PWD OLDPWD DIRSTACK IFS CDPATH FPATH ENV BASH* SHELLOPTS POSIXLY_CORRECT PROMPT* PS[0-9]*
	HIST* hist* MAIL MAILPATH MAILCHECK TMOUT FCEDIT COMP_* COMPREPLY FUNCNAME FIGNORE GLOBIGNORE EXECIGNORE HOSTFILE IGNOREEOF ignoreeof
	auto_resume INPUTRC READLINE_* TERM TERMINFO* TERMCAP LC_* LANG LANGUAGE TEXTDOMAIN* NLSPATH LOCPATH GCONV_PATH LD_* DYLD_*`)

// followed are those that a plain assignment may set: it is kept in mind.
var followed = strings.Fields("IFS CDPATH")

// restoring builtins take back the variables that stand before them, in every shell, and run nothing meanwhile.
var restoring = strings.Fields("read echo printf test [ pwd")

// free builtins leave nothing behind, or what is followed elsewhere.
var free = strings.Fields(`: . [ alias bg break builtin caller cd chdir command continue dirs disown echo eval exit false fg help jobs kill
	logout popd pushd pwd return shift source suspend test times true type ulimit umask unalias`)

// naming builtins set or unset the variables that they name, which are looked at.
var naming = strings.Fields("declare export getopts local mapfile printf read readarray typeset unset wait")

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
	_, other := harmless()[name]
	return other || slices.Contains(free, name) || slices.Contains(naming, name)
}

// steer flags what changes how later lines at the prompt are read, and them with it.
func (r *reader) steer(s *scope, what string, span cmdline.Span) {
	if !s.prompt {
		return
	}
	r.steered = true
	r.advise(s, Unreadable, what+" changes how this shell reads or runs what is typed later",
		`Use a shell of its own: bash -c "…"`, span)
}

// sets is an assignment to a variable. plainly says that it is written NAME=value.
func (r *reader) sets(s *scope, name string, plainly bool, span cmdline.Span) {
	base, subscript, _ := strings.Cut(name, "[")
	if subscript = strings.TrimSuffix(subscript, "]"); base != name && subscript != "@" && subscript != "*" {
		r.evaluates(s, []string{subscript}, span)
	}
	switch {
	case !s.prompt || plainly && slices.Contains(followed, name):
	case name == "PATH" && plainly: // whoever agrees to it knows what it is
		r.flag(s, RunHijacked, "PATH decides which programs the names in later lines mean", span)
	case strings.ContainsFunc(base, cmdline.IsMark):
		r.steer(s, "setting a variable that is not known before", span)
	case slices.ContainsFunc(watched, func(p string) bool { ok, err := path.Match(p, base); return ok || err != nil }), !plainly && runs(base):
		r.steer(s, "setting "+base, span)
	}
}

// builtin looks at a command that the shell at whose prompt it is typed runs itself.
func (r *reader) builtin(s *scope, c *call) {
	text, words := strings.Join(cmdline.Texts(c.words), " "), c.words
	if first := slices.IndexFunc(words, func(w cmdline.Word) bool { return !strings.HasPrefix(w.Text, "-") }); c.name == "printf" && first >= 0 {
		words = words[:first+1] // what comes after is printed
		if first == 0 && strings.IndexAny(words[0].Text, hole+gap) != 0 {
			return
		}
	}
	if slices.Contains(naming, c.name) {
		for _, w := range words {
			r.named(s, c, w)
		}
		return
	}
	if pattern, other := harmless()[c.name]; other && (!pattern.MatchString(text) || c.name == "exec" && s.redirected) {
		r.steer(s, strings.TrimSpace(c.name+" "+cmdline.Show(text)), c.span)
	}
	if c.name == "alias" && slices.ContainsFunc(c.words, func(w cmdline.Word) bool { name, _, _ := strings.Cut(w.Text, "="); return cmdline.Unknown(name) }) {
		r.steer(s, "an alias that is not known before", c.span)
	}
}

// declaring options do no more than they say.
var declaring = regexp.MustCompile(`^[-+][xgapAF]+$`)

// named is a word that a builtin may take for a variable to set, or for an option with one in it: -aNAME.
func (r *reader) named(s *scope, c *call, w cmdline.Word) {
	text, value, assigns := strings.Cut(w.Text, "=")
	if s.grammar == cmdline.Bash && assigns && strings.IndexAny(value, "("+hole+gap) == 0 {
		r.evaluates(s, []string{value}, c.span) // a list, with subscripts
	}
	switch {
	case strings.HasPrefix(text, "-") && slices.Contains(strings.Fields("declare typeset local export"), c.name):
		if !declaring.MatchString(text) && !(c.name == "export" && text == "-n") {
			r.steer(s, c.name+" "+cmdline.Show(text), c.span)
		}
	case strings.HasPrefix(text, "-"):
		for i := range text {
			r.sets(s, text[i:], false, c.span)
		}
		if c.name == "mapfile" || c.name == "readarray" {
			if strings.Contains(text, "C") {
				r.steer(s, c.name+" "+text, c.span)
			}
		}
	case !assigns && c.name == "export" && !cmdline.Unknown(text): // it only passes on what is set
	default:
		r.sets(s, text, assigns, c.span)
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
	for _, t := range texts {
		if syntax.ValidName(t) {
			v := r.lookup(s, t)
			if texts := slices.Concat(v.texts, v.all()); !slices.ContainsFunc(texts, func(t string) bool { return !number.MatchString(t) }) {
				continue
			}
		}
		if !number.MatchString(t) {
			r.advise(s, RunUnknownCode, "arithmetic runs code that it finds in "+cmdline.Show(t), "Assign the number in the same line", span)
		}
	}
}
