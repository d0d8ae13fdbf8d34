package cmdline

import (
	"path"
	"slices"
	"strings"
)

// keywords begin a construct, or are written before a command, in zsh or fish.
var keywords = strings.Fields(`if then else elif fi for foreach while until do done case esac select function repeat time coproc nocorrect
	begin end switch and or not in - always builtin command exec eval noglob`)

// otherBuiltins do in zsh or fish what they do not do elsewhere, or exist only there.
var otherBuiltins = map[Grammar][]string{
	Zsh: strings.Fields(`alias autoload bindkey compadd comparguments compcall compctl compdescribe compfiles compgroups compquote compset
		comptags comptry compvalues declare disable echotc echoti emulate enable export fc float functions getln getopts hash history
		integer let limit local log print printf private pushln r read readonly rehash run-help sched set setopt shift trap ttyctl typeset
		unalias unfunction unhash unlimit unset unsetopt vared whence where which which-command zargs zcompile zcurses zf_* zformat zftp
		zle zmodload zmv zparseopts zprof zpty zregexparse zselect zsocket zstat zstyle zsystem ztcp ztie zuntie`),
	Fish: strings.Fields(`_* abbr alias argparse bind block breakpoint cdh commandline complete contains_seq dirh down-or-search
		edit_command_buffer emit export fish_* funced funcsave functions help history nextd open prevd prompt_* psub
		read set set_color setenv status string suspend trap math path type printf up-or-search vared N_`),
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// notPortable accepts words without quotes, patterns and expansions, joined by ; && || |
// and line endings: a text that every shell reads alike.
func notPortable(text string, g Grammar) error {
	if at := len(text) - len(strings.TrimLeft(text, alphanumeric+"-_./=,:@+ \t\n;&|")); at < len(text) {
		return &Unreadable{Offset: at, Why: "of this shell only plain words are read here"}
	}
	for start := 0; start < len(text); {
		end := start + strings.IndexAny(text[start:]+"\n", ";&|\n")
		for i, w := range strings.Fields(text[start:end]) {
			switch {
			case w[0] == '=' || strings.Contains(w, "==") || strings.Contains(w, ":="):
				return &Unreadable{Offset: start, Why: "a word that zsh expands to a program's path"}
			case i == 0 && strings.Contains(w, "="):
				return &Unreadable{Offset: start, Why: "an assignment, which shells read differently"}
			case i == 0 && (slices.Contains(keywords, w) || MatchesAny(otherBuiltins[g], w)):
				return &Unreadable{Offset: start, Why: w + " means another thing in other shells"}
			}
		}
		for start = end; start < len(text) && strings.IndexByte(";&|\n", text[start]) >= 0; {
			start++
		}
		if operator := strings.TrimSpace(text[end:start]); !slices.Contains([]string{"", ";", "&&", "||", "|"}, operator) {
			return &Unreadable{Offset: end, Why: "of this shell only ; && || and | are read here"}
		}
	}
	return nil
}

// MatchesAny says that one of the patterns, in which * is any characters, matches name.
func MatchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok || err != nil })
}
