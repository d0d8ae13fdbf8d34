package effect

import (
	"slices"
	"strings"

	"github.com/multiollama/mcp-server/shell-exec/internal/cmdline"
)

// readOnly are variables that a shell does not let anyone assign.
var readOnly = strings.Fields("? $ ! # UID EUID PPID")

// recall prepares a scope for a text that is typed at a prompt: what was typed before
// may have changed every variable, and has defined functions and aliases.
func (r *reader) recall(s *scope) {
	s.params = nil
	w := r.world
	w.Past = nil
	before, then, err := newReader(w)
	if err != nil {
		r.lost = true
		return
	}
	before.recalling, then.params = true, nil
	for _, text := range r.world.Past {
		before.report.Dirs, before.waits = nil, false
		then.vars = &variables{own: map[string]value{}} // what was typed between these texts is not here
		read := cmdline.AtPrompt(text, then.grammar)
		if read == nil {
			before.guarded(then, len(text), func() { read = before.script(then, text) })
		}
		r.lost = r.lost || read != nil || before.report.Unreadable != nil || before.tooBig || before.steered || len(before.report.Dirs) > 0 && before.waits
		s.splitting = s.splitting || strings.Contains(text, "IFS")
		s.searching = s.searching || strings.Contains(text, "CDPATH")
		r.lost = r.lost || before.rewrites
	}
	for name, f := range then.functions {
		s.functions[name] = function{bodies: f.bodies, past: true}
	}
	for name, a := range then.aliases {
		s.aliases[name] = alias{texts: a.texts, past: true}
	}
}

// lasting says that later texts at the prompt must be judged with this one in mind.
func (r *reader) lasting(text string) bool {
	return r.defines || r.steered || containsAny(text, "IFS", "CDPATH")
}

// remembered is what a variable may hold that the text at a prompt does not assign:
// what it held when the shell began, or anything else.
func (r *reader) remembered(s *scope, name string) value {
	switch {
	case slices.Contains(readOnly, name):
		return single("12345")
	case name == "@" || name == "*" || name[0] >= '1' && name[0] <= '9':
		return s.param(name)
	case name == "PWD" && s.dir != "":
		return unknownValue.or(single(s.dir))
	case name == "HOME" && r.world.Home != "":
		return unknownValue.or(single(r.world.Home))
	}
	if text, ok := r.world.Env[name]; ok {
		return unknownValue.or(single(text))
	}
	return unknownValue
}

// callAlias puts an alias's text in its place. That is certain only for plain words that
// were there before the text was read.
func (r *reader) callAlias(s *scope, c *call, a alias) {
	inner := s.within(c.path.Text)
	inner.aliases = withoutAlias(s.aliases, c.path.Text)
	for _, text := range a.texts {
		if !a.past || !isPlain(text) || slices.ContainsFunc(strings.Fields(text), func(w string) bool { return slices.Contains(reserved, w) }) {
			r.advise(s, Alias, "runs an alias that this shell or script makes", "Call the program by its name", c.span)
			continue
		}
		var argv []cmdline.Word
		for _, word := range strings.Fields(text) {
			argv = append(argv, cmdline.At(word, c.span))
		}
		r.call(inner, append(argv, c.words...), c.span)
	}
	s.output.add(inner.output)
	s.dir = inner.dir
}

func withoutAlias(all map[string]alias, name string) map[string]alias {
	out := map[string]alias{}
	for other, a := range all {
		if other != name {
			out[other] = a
		}
	}
	return out
}

// isPlain: words without quotes and expansions, and no blank at the end, after which the
// next word would be looked up as well.
func isPlain(text string) bool {
	return text != "" && text == strings.TrimSpace(text) && !strings.ContainsFunc(text, func(ch rune) bool {
		letter := ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
		return !letter && !strings.ContainsRune(" -_./:,@%+", ch)
	})
}

// reserved are words with a grammar of their own. An alias, or of the last ones a function, takes it from them.
var reserved = strings.Fields(`! { } [[ ]] if then else elif fi for while until do done case esac in select function time coproc
	declare export let local nameref readonly typeset`)

// promptShell is a shell that is started to be typed at: what is typed will be judged.
func (r *reader) promptShell(s *scope, c *call) bool {
	if !r.world.Terminal || r.current != 0 || s.input.kind != nothing {
		return false
	}
	quiet := false
	for _, w := range c.words {
		if !slices.Contains(strings.Fields(promptOptions[c.name]), w.Text) {
			return false
		}
		quiet = quiet || slices.Contains(readsNothing, w.Text)
	}
	if _, ok := promptOptions[c.name]; !ok {
		return false
	}
	if !quiet && c.name != "sh" && c.name != "dash" && c.name != "ash" {
		r.flag(s, RunFile, c.name+" reads its start-up files, which have not been read here", c.span)
	}
	return true
}

// promptOptions are those that do not make a shell run anything.
var promptOptions = map[string]string{
	"bash": "-i --norc --noprofile --noediting", "sh": "-i", "dash": "-i", "ash": "-i", "ksh": "-i", "mksh": "-i",
	"zsh": "-i -f --no-rcs", "fish": "-i --interactive -N --no-config -P --private",
}

var readsNothing = []string{"--norc", "-f", "--no-rcs", "-N", "--no-config"}
