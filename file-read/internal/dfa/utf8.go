package dfa

import "unicode/utf8"

// span is the bytes from lo to hi.
type span struct{ lo, hi byte }

// surrogates are no characters: UTF-8 has no spelling for them.
const surrogateMin, surrogateMax = 0xD800, 0xDFFF

// sequences tells the characters from lo to hi as sequences of spans: each
// sequence has one length, and any bytes of its spans spell a character.
func sequences(lo, hi rune, tell func([]span)) {
	if lo <= surrogateMax && hi >= surrogateMin {
		sequences(lo, surrogateMin-1, tell)
		sequences(surrogateMax+1, hi, tell)
		return
	}
	if lo > hi {
		return
	}
	if at, ok := split(lo, hi); ok {
		sequences(lo, at, tell)
		sequences(at+1, hi, tell)
		return
	}
	var first, last [utf8.UTFMax]byte
	n := utf8.EncodeRune(first[:], lo)
	utf8.EncodeRune(last[:], hi)
	var s [utf8.UTFMax]span
	for i := range n {
		s[i] = span{first[i], last[i]}
	}
	tell(s[:n])
}

// split is the last character of the first part where a range is not one
// sequence: where its spellings have several lengths, or where bytes differ
// before one that does not go through all of its values.
func split(lo, hi rune) (rune, bool) {
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if lo <= last && last < hi {
			return last, true
		}
	}
	for bits := 6; hi > 0x7F && bits < 24; bits += 6 {
		rest := rune(1)<<bits - 1 // what the last bytes of a spelling hold
		switch {
		case lo&^rest == hi&^rest:
			return 0, false
		case lo&rest != 0:
			return lo | rest, true
		case hi&rest != rest:
			return hi&^rest - 1, true
		}
	}
	return 0, false
}
