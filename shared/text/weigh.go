package text

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
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
	markWeight    = 80  // typographic punctuation a language uses
	wideWeight    = 100 // ASCII in its wide form, among ideographs
	symbolWeight  = 110 // a sign any text may use
	narrowWeight  = 95  // half-width katakana
	strangeWeight = 170 // any other character that is a letter or a sign
	foreignWeight = 400 // private use, controls, unassigned
	margin        = 40  // what another reading must be better by than windows-1252
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
	base, capital := 30, 30
	switch l.kind {
	case latin:
		base, capital = 60, 20
	case ideographs:
		base = 35
	}
	of := map[rune]int{}
	place := 0
	for _, r := range l.letters {
		place++
		if _, twice := of[r]; twice {
			continue
		}
		of[r] = base + logarithm(place)
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

// weigh is the weight of s as text of the language.
func (p price) weigh(s string) int {
	sum, before := 0, rune(' ')
	for _, r := range s {
		sum += p.alone(r) + p.beside(before, r)
		before = r
	}
	return sum
}

func (p price) alone(r rune) int {
	if r < 0x80 {
		return asciiWeight
	}
	if w, ok := p.of[r]; ok {
		return w
	}
	switch {
	case r >= 0xFF01 && r <= 0xFF5E && p.kind == ideographs:
		return wideWeight
	case r >= 0xFF61 && r <= 0xFF9F:
		return narrowWeight
	case strings.ContainsRune("\u00a0§©®°€–—…‘’“”«»№•™×±·½²", r):
		return symbolWeight
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsPunct(r), unicode.IsSymbol(r), unicode.IsNumber(r), r == 0x3000:
		return strangeWeight
	}
	return foreignWeight
}

// beside is what the neighbourhood of two characters adds: scripts do not
// change within a word, capitals do not follow small letters, and accented
// letters seldom stand in rows where most letters are ASCII.
func (p price) beside(a, b rune) int {
	if a < 0x80 && b < 0x80 || !unicode.IsLetter(a) {
		return 0
	}
	sum := 0
	if !unicode.IsLetter(b) {
		return 0
	}
	if x, y := scriptOf(a), scriptOf(b); x != y {
		sum += 100
	}
	if unicode.IsLower(a) && unicode.IsUpper(b) {
		sum += 60
	}
	if p.kind == latin && a >= 0x80 && b >= 0x80 {
		sum += 25
	}
	return sum
}

// scriptOf is 0 for everything that mixes freely.
func scriptOf(r rune) int {
	switch {
	case r < 0x0250, r >= 0x1E00 && r < 0x1F00:
		return 1
	case r >= 0x0370 && r < 0x0400:
		return 2
	case r >= 0x0400 && r < 0x0530:
		return 3
	case r >= 0x0590 && r < 0x0600:
		return 4
	case r >= 0x0600 && r < 0x0700:
		return 5
	}
	return 6
}

// reading is one way to understand the sample.
type reading struct {
	encoding Encoding
	weight   int
}

// byLanguage takes the least unusual of all readings that are valid for the
// whole head. A NUL is never text here, and other control characters nearly
// never.
func byLanguage(h head) (Encoding, bool) {
	if bytes.IndexByte(h.bytes, 0) >= 0 || oddControls(string(h.bytes))*500 > len(h.bytes) {
		return Encoding{}, false
	}
	sample := sampleOf(h)
	readings := readingsOf(sample)
	slices.SortStableFunc(readings, func(a, b reading) int { return cmp.Compare(a.weight, b.weight) })
	for _, r := range readings {
		if _, ok := r.encoding.strict(h); !ok {
			continue
		}
		return r.encoding, believable(sample.bytes, r.weight)
	}
	return Encoding{}, false
}

// believable refuses what is so short that random bytes may be without control
// characters by chance, and at the same time unusual in every language.
func believable(sample []byte, weight int) bool {
	high := 0
	for _, c := range sample {
		if c >= 0x80 {
			high++
		}
	}
	perByte := (weight - asciiWeight*(len(sample)-high)) / max(1, high)
	return len(sample) >= 64 || perByte < 150
}

// sampleOf is the lines that are not ASCII only, 4 KiB of them. The line feed is
// part of no longer character in any encoding weighed here.
func sampleOf(h head) head {
	const enough = 4 << 10
	var sample []byte
	for line := range bytes.Lines(h.bytes) {
		if bytes.IndexFunc(line, notASCII) < 0 {
			continue
		}
		sample = append(sample, line...)
		if len(sample) > enough {
			return head{sample[:enough], false}
		}
	}
	return head{sample, h.whole}
}

// readingsOf weighs the sample in every encoding that can decode it, by the
// language that finds it least unusual.
func readingsOf(sample head) []reading {
	decoded := map[string]string{}
	best := map[string]int{}
	for _, p := range prices() {
		for _, name := range p.encodings {
			s, seen := decoded[name]
			if !seen {
				s, _ = must(name).strict(sample)
				decoded[name] = s
			}
			if s == "" {
				continue
			}
			if w, weighed := best[name]; !weighed || p.weigh(s) < w {
				best[name] = p.weigh(s)
			}
		}
	}
	return inOrder(best)
}

// inOrder lists readings in the order of the table of encodings, windows-1252
// first and with its advantage.
func inOrder(best map[string]int) []reading {
	var readings []reading
	for _, name := range append([]string{"windows-1252"}, Names()...) {
		w, ok := best[name]
		if !ok {
			continue
		}
		delete(best, name)
		if name == "windows-1252" {
			w -= margin
		}
		readings = append(readings, reading{must(name), w})
	}
	return readings
}
