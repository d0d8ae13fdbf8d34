package cmdline

import "strings"

// Text is what a word is known to become when the shell has expanded it: ordinary
// characters, and marks where something is not known or is still a pattern.
type Text = string

// The marks. They are in Unicode's private use area, and Parse refuses a script that
// has such characters itself.
const (
	Hole = '\uE000' // unknown characters, within one word
	Star = '\uE001' // a pattern's *
	Any  = '\uE002' // a pattern's ?
	Set  = '\uE003' // a pattern's [
	Gap  = '\uE004' // unknown characters that may split into several words
)

const (
	holes    = string(Hole) + string(Gap)
	patterns = string(Star) + string(Any) + string(Set)
)

// IsMark tells a mark from an ordinary character.
func IsMark(r rune) bool { return r >= Hole && r <= Gap }

// Unknown says that some of t is not known before the command runs.
func Unknown(t Text) bool { return strings.ContainsAny(t, holes) }

// OnlyUnknown says that nothing of t is known.
func OnlyUnknown(t Text) bool { return t != "" && strings.Trim(t, holes+" \n") == "" }

// Pattern says that the shell will look for files that match t.
func Pattern(t Text) bool { return strings.ContainsAny(t, patterns) }

var (
	show     = strings.NewReplacer(string(Hole), "…", string(Gap), "…", string(Star), "*", string(Any), "?", string(Set), "[")
	plain    = strings.NewReplacer(string(Star), "*", string(Any), "?", string(Set), "[")
	activate = strings.NewReplacer("*", string(Star), "?", string(Any), "[", string(Set))
	joined   = strings.NewReplacer(string(Gap), string(Hole))
	split    = strings.NewReplacer(string(Hole), string(Gap))
)

// Show is t for people: … where it is not known.
func Show(t Text) string { return show.Replace(t) }

// Plain is t with its patterns as the characters they are written with.
func Plain(t Text) Text { return plain.Replace(t) }

// Patterned is t where *, ? and [ are patterns, as in an unquoted variable's value.
func Patterned(t Text) Text { return activate.Replace(t) }

// Quoted is t in double quotes: what is unknown in it does not split.
func Quoted(t Text) Text { return joined.Replace(t) }

// Unquoted is t where what is unknown may split into several words.
func Unquoted(t Text) Text { return split.Replace(t) }

// Quote writes t so that a shell reads it as one word again.
func Quote(t Text) Text {
	if t != "" && strings.IndexFunc(t, special) < 0 {
		return t
	}
	return "'" + strings.ReplaceAll(t, "'", `'\''`) + "'"
}

func special(r rune) bool {
	ordinary := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || IsMark(r)
	return !ordinary && !strings.ContainsRune("-_./=:,@%+", r)
}
