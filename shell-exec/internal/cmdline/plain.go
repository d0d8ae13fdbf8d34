package cmdline

import (
	"slices"
	"strings"
)

// Words that begin a construct, or stand before a command, in zsh or fish.
var keywords = strings.Fields(`if then else elif fi for foreach while until do done case esac select function repeat time coproc nocorrect
	begin end switch and or not in - always`)

// otherBuiltins do in zsh or fish what they do not do elsewhere, or exist only there.
var otherBuiltins = map[Grammar][]string{
	Zsh: strings.Fields(`alias autoload bindkey emulate fc functions hash history integer float typeset declare local export readonly
		print printf r sched set setopt unsetopt trap vared zargs zcompile zle zmodload zmv zpty zsocket ztcp zstyle zf_rm zf_ln zf_mv
		zf_chmod zf_chown zf_mkdir zf_rmdir enable disable whence where let read unset unfunction unhash`),
	Fish: strings.Fields(`abbr alias argparse bind block breakpoint complete emit export fish_add_path fish_config fish_update_completions
		fish_vi_key_bindings funced funcsave functions history read set set_color status string trap math path type printf vared`),
}

// plainOnly accepts words without quotes, patterns and expansions, joined by ; && || |
// and line ends: a text that every shell reads alike.
func plainOnly(text string, g Grammar) error {
	if at := strings.IndexFunc(text, notPlain); at >= 0 {
		return &Unreadable{Offset: at, Why: "of this shell only plain words are read here"}
	}
	start := 0
	for start < len(text) {
		end := start + strings.IndexAny(text[start:]+"\n", ";&|\n")
		if err := plainCommand(strings.Fields(text[start:end]), start, g); err != nil {
			return err
		}
		start = end
		for start < len(text) && strings.IndexByte(";&|\n", text[start]) >= 0 {
			start++
		}
		if operator := strings.TrimSpace(text[end:start]); !slices.Contains([]string{"", ";", "&&", "||", "|"}, operator) {
			return &Unreadable{Offset: end, Why: "of this shell only ; && || and | are read here"}
		}
	}
	return nil
}

func notPlain(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-_./=,:@+ \t\n;&|", r)
}

func plainCommand(words []string, at int, g Grammar) error {
	for i, w := range words {
		switch {
		case w[0] == '=' || strings.Contains(w, "==") || strings.Contains(w, ":="):
			return &Unreadable{Offset: at, Why: "a word that zsh expands to a program's path"}
		case i == 0 && strings.Contains(w, "="):
			return &Unreadable{Offset: at, Why: "an assignment, which shells read differently"}
		case i == 0 && (slices.Contains(keywords, w) || slices.Contains(otherBuiltins[g], w)):
			return &Unreadable{Offset: at, Why: w + " means another thing in other shells"}
		}
	}
	return nil
}
