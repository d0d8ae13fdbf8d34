package text

import (
	"bytes"
	"sync"
	"unicode"
	"unicode/utf16"
)

// usual is where the characters of text in UTF-16 are found; what lies outside
// (private use, rare ideographs, unassigned) is what other data looks like.
var usual = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0009, Hi: 0x000D, Stride: 1}, {Lo: 0x001A, Hi: 0x001B, Stride: 1}, {Lo: 0x0020, Hi: 0x007E, Stride: 1},
		{Lo: 0x00A0, Hi: 0x017F, Stride: 1}, // Latin
		{Lo: 0x0218, Hi: 0x021B, Stride: 1}, // Romanian
		{Lo: 0x0386, Hi: 0x052F, Stride: 1}, // Greek, Cyrillic
		{Lo: 0x0531, Hi: 0x06FF, Stride: 1}, // Armenian, Hebrew, Arabic
		{Lo: 0x0900, Hi: 0x0DFF, Stride: 1}, // scripts of India
		{Lo: 0x0E01, Hi: 0x0E5B, Stride: 1}, // Thai
		{Lo: 0x10A0, Hi: 0x10FF, Stride: 1}, // Georgian
		{Lo: 0x1E00, Hi: 0x1EFF, Stride: 1}, // Vietnamese
		{Lo: 0x2010, Hi: 0x2027, Stride: 1}, {Lo: 0x2030, Hi: 0x205E, Stride: 1}, {Lo: 0x20A0, Hi: 0x20BF, Stride: 1},
		{Lo: 0x2100, Hi: 0x23FF, Stride: 1}, {Lo: 0x2500, Hi: 0x27BF, Stride: 1}, // arrows, boxes, signs
		{Lo: 0x3000, Hi: 0x30FF, Stride: 1}, // kana and their punctuation
		{Lo: 0x4E00, Hi: 0x9FA5, Stride: 1}, // unified ideographs of the first edition
		{Lo: 0xAC00, Hi: 0xD7A3, Stride: 1}, // Hangul
		{Lo: 0xFE0F, Hi: 0xFE0F, Stride: 1},
		{Lo: 0xFF01, Hi: 0xFFE6, Stride: 1}, // wide and narrow forms
	},
	R32: []unicode.Range32{{Lo: 0x1F300, Hi: 0x1FAFF, Stride: 1}},
}

// asUTF16 finds UTF-16 without a byte-order mark. Only bytes with a NUL among
// them are looked at: without a single space, line end or Latin letter there is
// nothing to tell it by.
func asUTF16(h head) (Encoding, bool) {
	if bytes.IndexByte(h.bytes, 0) < 0 {
		return Encoding{}, false
	}
	best, least := Encoding{}, 0
	little, big := mayBeUTF16(h.bytes)
	for _, order := range []struct {
		name string
		may  bool
	}{{"utf-16le", little}, {"utf-16be", big}} {
		if !order.may {
			continue
		}
		e := must(order.name)
		s, ok := e.strict(h)
		if !ok || !plausibleUTF16(s) {
			continue
		}
		if n := blockChanges(s); best.scheme == nil || n < least {
			best, least = e, n
		}
	}
	return best, best.scheme != nil
}

// mayBeUTF16 tells most other data, whose characters plausibleUTF16 would refuse,
// before anything is decoded: often by its first NUL.
func mayBeUTF16(b []byte) (little, big bool) {
	const oneIn = 20
	odd := oddUnits()
	inLittle, inBig, most := 0, 0, len(b)/2/oneIn
	for i := 0; i+1 < len(b); i += 2 {
		unit := int(b[i]) | int(b[i+1])<<8
		if unit == 0 {
			return false, false
		}
		inLittle += int(odd[unit])
		inBig += int(odd[int(b[i+1])|int(b[i])<<8])
		if inLittle > most && inBig > most {
			return false, false
		}
	}
	return inLittle <= most, inBig <= most
}

// oddUnits has 1 for each unit that is no usual character and no half of one.
var oddUnits = sync.OnceValue(func() *[1 << 16]uint8 {
	odd := new([1 << 16]uint8)
	for r := range rune(len(odd)) {
		if !unicode.Is(usual, r) && !utf16.IsSurrogate(r) {
			odd[r] = 1
		}
	}
	return odd
})

// plausibleUTF16 wants usual characters, nineteen in twenty, and no NUL. A list
// of ASCII words with NUL between them passes that, since two ASCII letters
// together are an ideograph; so of the characters beyond Latin some must be
// made of a byte that is no ASCII.
func plausibleUTF16(s string) bool {
	all, odd, wide, proven := 0, 0, 0, 0
	for _, r := range s {
		all++
		if r == 0 || r == 0xFFFD {
			return false
		}
		if !unicode.Is(usual, r) {
			odd++
		}
		if r >= 0x100 {
			wide++
			if !asciiOrNUL(byte(r)) || !asciiOrNUL(byte(r>>8)) {
				proven++
			}
		}
	}
	return all > 1 && odd*20 <= all && proven*5 >= wide
}

func asciiOrNUL(b byte) bool {
	return b == 0 || b == '\t' || b == '\n' || b == '\r' || (b >= ' ' && b < 0x7F)
}

// blockChanges counts how often the upper byte of a character differs from that
// of the one before. Text stays in its script; text read with its bytes swapped
// does not.
func blockChanges(s string) int {
	n, before := 0, rune(-1)
	for _, r := range s {
		if r>>8 != before {
			n++
		}
		before = r >> 8
	}
	return n
}
