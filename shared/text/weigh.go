package text

import (
	"math/bits"
	"strings"
	"sync"
	"unicode"
)

// A weight is how unusual a text is: about ten times the number of bits a
// language would need to say it. Decodings of the same bytes can be compared
// whatever number of characters they have; that is what makes two letters of
// one alphabet against one ideograph of another a fair question.
const (
	asciiWeight   = 50  // any ASCII character
	markWeight    = 80  // punctuation that any text may use, or this language does
	symbolWeight  = 110 // a sign that any text may use
	wideWeight    = 100 // ASCII in its wide form, among ideographs
	narrowWeight  = 95  // half-width katakana
	strangeWeight = 170 // any other letter or sign
	foreignWeight = 400 // private use, controls, unassigned

	otherScript  = 100 // within a word
	scriptChange = 25  // from one word to the next
	lateCapital  = 60  // a capital behind a small letter
	threeAlike   = 25  // a third vowel or a third consonant in a row
	badSpelling  = 50  // two letters that words of their script do not have
	twoAccents   = 25  // one accented letter behind another, where most letters are ASCII
	signInWord   = 80  // a sign between two letters, or an accent without its letter
	margin       = 40  // what another reading must be better by than windows-1252
)

// Signs that any text may use.
const (
	anyMarks   = "\u00a0–—…‘’“”„«»"
	anySymbols = "§©®°€•™×±½²µ£"
)

// price is a language made fit for weighing.
type price struct {
	language
	of map[rune]int
}

// prices is made once, at the first file that is neither UTF-8 nor binary.
var prices = sync.OnceValue(func() []price {
	all := make([]price, len(languages))
	for i, l := range languages {
		all[i] = price{l, l.prices()}
	}
	return all
})

// prices follows Zipf: a character at place n of the order is worth a constant
// and the binary logarithm of n.
func (l language) prices() map[rune]int {
	first, capital := 37, 25
	switch l.kind {
	case latin:
		first, capital = 60, 20
	case ideographs:
		first = 40
	}
	of := map[rune]int{}
	place := 0
	for _, r := range l.letters {
		place++
		of[r] = first + logarithm(place)
		if upper := unicode.ToUpper(r); upper != r && upper >= 0x80 {
			of[upper] = of[r] + capital
		}
	}
	for _, r := range l.marks {
		of[r] = markWeight
	}
	return of
}

// logarithm is ten times the binary logarithm of n, linear between powers.
func logarithm(n int) int {
	whole := bits.Len(uint(n)) - 1
	return 10*whole + 10*(n-1<<whole)>>whole
}

// alone is what a character beyond ASCII is worth by itself.
func (p price) alone(r rune) int {
	if w, ok := p.of[r]; ok {
		return w
	}
	switch {
	case strings.ContainsRune(anyMarks, r):
		return markWeight
	case strings.ContainsRune(anySymbols, r):
		return symbolWeight
	case r >= 0xFF01 && r <= 0xFF5E && p.kind == ideographs:
		return wideWeight
	case r >= 0xFF61 && r <= 0xFF9F:
		return narrowWeight
	case unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S):
		return strangeWeight
	}
	return foreignWeight
}

// weigh is the weight of a reading as text of the language.
func (p price) weigh(r reading) int {
	sum := r.company
	if p.kind == latin {
		sum += twoAccents * r.accents
	}
	for _, c := range r.characters {
		sum += c.times * p.alone(c.r)
	}
	return sum
}
