package cmdline

import (
	"regexp"
	"strconv"
	"strings"
)

// Text is what a word is known to become when the shell has expanded it: ordinary
// characters, and marks where something is not known or is still a pattern.
type Text = string

// The marks. They are in Unicode's private use area, and Parse rejects a script that
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

// IsMark says that a character is a mark, not an ordinary one.
func IsMark(r rune) bool { return r >= Hole && r <= Gap }

// HasMark says that some of t is not an ordinary character.
func HasMark(t Text) bool { return strings.ContainsFunc(t, IsMark) }

// Unknown says that some of t is not known before the command runs.
func Unknown(t Text) bool { return strings.ContainsAny(t, holes) }

// OnlyUnknown says that nothing of t is known.
func OnlyUnknown(t Text) bool { return t != "" && strings.Trim(t, holes+" \n") == "" }

// Pattern says that the shell will look for files that match t.
func Pattern(t Text) bool { return strings.ContainsAny(t, patterns) }

// One text made of another.
var (
	// Show writes a text for people: … where it is not known.
	Show = strings.NewReplacer(string(Hole), "…", string(Gap), "…", string(Star), "*", string(Any), "?", string(Set), "[").Replace

	// Literal is a text with its patterns as the characters that they are written with.
	Literal = strings.NewReplacer(string(Star), "*", string(Any), "?", string(Set), "[").Replace

	// Patterned is a text where *, ? and [ are patterns, as in an unquoted variable's value.
	Patterned = strings.NewReplacer("*", string(Star), "?", string(Any), "[", string(Set)).Replace

	// Quoted is a text in double quotes: what is unknown in it does not split.
	Quoted = strings.NewReplacer(string(Gap), string(Hole)).Replace

	// Unquoted is a text where what is unknown may split into several words.
	Unquoted = strings.NewReplacer(string(Hole), string(Gap)).Replace
)

// Quote writes t so that a shell reads it as one word again.
func Quote(t Text) Text {
	if t != "" && strings.Trim(t, alphanumeric+"-_./=:,@%+"+holes+patterns) == "" {
		return t
	}
	return "'" + strings.ReplaceAll(t, "'", `'\''`) + "'"
}

// Unescape takes the backslashes out of a literal as it is written in a script. In double
// quotes a backslash counts only before " \ $ ` and a line ending; outside of quotes, *, ?
// and [ become patterns.
func Unescape(s string, quoted bool) Text {
	if !strings.ContainsAny(s, `\*?[`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("\"\\$`\n", s[i+1]) >= 0):
			if i++; s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case c == '*' && !quoted:
			b.WriteRune(Star)
		case c == '?' && !quoted:
			b.WriteRune(Any)
		case c == '[' && !quoted && strings.IndexByte(s[i:], ']') > 0:
			b.WriteRune(Set)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// The escapes of $'…', echo -e and printf that are one character, and how many digits the
// numeric ones have.
var (
	simpleEscapes = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': '\n', 'r': '\r', 't': '\t', 'v': 11,
		'\\': '\\', '\'': '\'', '"': '"', '?': '?'}
	hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}
)

// Decode reads the escapes of $'…'.
func Decode(s string) Text {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		from, base, digits, maxDigits := i+1, 16, "0123456789abcdefABCDEF", hexDigits[s[i]]
		if s[i] >= '0' && s[i] <= '7' {
			from, base, digits, maxDigits = i, 8, "01234567", 3
		}
		to := from
		for to < len(s) && to < from+maxDigits && strings.IndexByte(digits, s[to]) >= 0 {
			to++
		}
		number, err := strconv.ParseUint(s[from:to], base, 32)
		simple, isSimple := simpleEscapes[s[i]]
		switch {
		case isSimple:
			b.WriteByte(simple)
		case err == nil && (base == 8 || s[i] == 'x'):
			b.WriteByte(byte(number))
			i = to - 1
		case err == nil:
			b.WriteRune(rune(number))
			i = to - 1
		case s[i] == 'c' && i+1 < len(s):
			i++
			b.WriteByte(s[i] & 0x1f)
		default:
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

var octal = regexp.MustCompile(`\\0([0-7]{1,3})`)

// DecodeEcho reads the escapes of echo -e and of printf's %b, where an octal number has a
// 0 before it.
func DecodeEcho(s string) Text { return Decode(octal.ReplaceAllString(s, `\$1`)) }

// Span is a range of bytes in the text that was given.
type Span struct{ Start, End int }

// Word is one argument after expansion.
type Word struct {
	Text     Text
	Span     Span
	Verbatim int // where in the script Text is written letter by letter, or -1: spans of a nested script count from there
}

// At is a word with that text, which comes from the span but is not written there letter by letter.
func At(text Text, span Span) Word { return Word{Text: text, Span: span, Verbatim: -1} }

// With is w with another text.
func (w Word) With(text Text) Word { return At(text, w.Span) }

// From is the rest of w after its first n bytes.
func (w Word) From(n int) Word {
	rest := w.With(w.Text[n:])
	if w.Verbatim >= 0 {
		rest.Verbatim = w.Verbatim + n
	}
	return rest
}

// Texts are the texts of words.
func Texts(words []Word) []Text {
	all := make([]Text, len(words))
	for i, w := range words {
		all[i] = w.Text
	}
	return all
}

// Join is words with a blank between them; one word stays as it is.
func Join(words []Word, span Span) Word {
	if len(words) == 1 {
		return words[0]
	}
	return At(strings.Join(Texts(words), " "), span)
}
