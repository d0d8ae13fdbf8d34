package cmdline

import "strings"

// Span is a range of bytes in the text that was given.
type Span struct{ Start, End int }

// Word is one argument after expansion.
type Word struct {
	Text     Text
	Span     Span
	Verbatim int // where in the script Text stands letter by letter, or -1: spans of a nested script count from there
}

// At is text as a word that stands where span says, though not letter by letter.
func At(text Text, span Span) Word { return Word{Text: text, Span: span, Verbatim: -1} }

// With is w with another text.
func (w Word) With(text Text) Word { return At(text, w.Span) }

// From is the rest of w after its first n bytes.
func (w Word) From(n int) Word {
	rest := Word{Text: w.Text[n:], Span: w.Span, Verbatim: -1}
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
