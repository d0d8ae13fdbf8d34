package edit

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folding reads a text with everything left out that is easily mistaken: white
// space, line ends, invisible characters and accents are skipped, capitals are
// small, and characters that look like others are those others. Two texts that
// fold to the same differ in nothing else.
type folding struct {
	s    string
	from int    // where the character begins that the last rune came from
	at   int    // where it ends
	rest []byte // what is left of its decomposition
	work *int   // characters examined, which tests of the time count
}

// maxDecomposition is in bytes. The few characters that are whole words or
// sentences, such as U+FDFA, stay as they are: eighteen letters for three bytes
// would make a file of them a burden.
const maxDecomposition = 12

// next returns the next rune, not ok at the end.
func (f *folding) next() (rune, bool) {
	for {
		*f.work++
		r, ok := f.read()
		if !ok {
			return 0, false
		}
		if r, shown := folded(r); shown {
			return r, true
		}
	}
}

// read returns the next character, or the next one of its decomposition.
func (f *folding) read() (r rune, ok bool) {
	if len(f.rest) == 0 {
		if f.at >= len(f.s) {
			return 0, false
		}
		r, n := utf8.DecodeRuneInString(f.s[f.at:])
		f.from, f.at = f.at, f.at+n
		if r < utf8.RuneSelf || likeness[r] != 0 {
			return r, true
		}
		d := norm.NFKD.PropertiesString(f.s[f.from:]).Decomposition()
		if len(d) == 0 || len(d) > maxDecomposition {
			return r, true
		}
		f.rest = d
	}
	r, n := utf8.DecodeRune(f.rest)
	f.rest = f.rest[n:]
	return r, true
}

// runes yields what is left.
func (f *folding) runes(yield func(rune) bool) {
	for r, ok := f.next(); ok && yield(r); r, ok = f.next() {
	}
}

// folded is one character without case and disguise, not shown where it is
// skipped.
func folded(r rune) (like rune, shown bool) {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A', true
	case r == '`':
		return '\'', true
	case r < utf8.RuneSelf:
		return r, r > ' ' && r != 0x7F
	}
	if like := likeness[r]; like != 0 {
		return like, true
	}
	return unicode.ToLower(r), !skipped(r)
}

// skipped reports whether a character beyond ASCII is blank, invisible or an accent.
func skipped(r rune) bool {
	return !unicode.IsLetter(r) && unicode.In(r, unicode.Mn, unicode.Cf, unicode.Cc, unicode.Z)
}

// likeness is the ASCII that characters are taken for which Unicode does not
// itself decompose to it (as it does the full-width forms): quotes and dashes of
// typography, and the letters of other alphabets that look the same, after the
// confusables of Unicode Technical Standard 39.
var likeness = map[rune]rune{
	'‘': '\'', '’': '\'', '‚': '\'', '‛': '\'', '′': '\'', '´': '\'', 'ʼ': '\'', '‹': '\'', '›': '\'',
	'“': '"', '”': '"', '„': '"', '‟': '"', '″': '"', '«': '"', '»': '"', '〝': '"', '〞': '"',
	'‐': '-', '‑': '-', '‒': '-', '–': '-', '—': '-', '―': '-', '−': '-', '﹣': '-',
	'⁄': '/', '∕': '/', '∶': ':', '∗': '*', '·': '.', '․': '.',
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'н': 'h',
	'о': 'o', 'р': 'p', 'ѕ': 's', 'т': 't', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x',
	'А': 'a', 'В': 'b', 'С': 'c', 'Е': 'e', 'Н': 'h', 'І': 'i', 'Ј': 'j', 'К': 'k', 'Ӏ': 'l', 'М': 'm',
	'О': 'o', 'Р': 'p', 'Ѕ': 's', 'Т': 't', 'У': 'y', 'Х': 'x',
	'α': 'a', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'υ': 'u', 'χ': 'x',
	'Α': 'a', 'Β': 'b', 'Ε': 'e', 'Ζ': 'z', 'Η': 'h', 'Ι': 'i', 'Κ': 'k', 'Μ': 'm', 'Ν': 'n', 'Ο': 'o',
	'Ρ': 'p', 'Τ': 't', 'Υ': 'y', 'Χ': 'x', 'ı': 'i', 'ɑ': 'a', 'ɡ': 'g',
}
