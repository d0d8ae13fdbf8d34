package text

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// reading is one way to understand the sample: an encoding, what is the same in
// every language about the text it gives, and the least weight in any of them.
type reading struct {
	encoding   Encoding
	characters []character // those beyond ASCII
	company    int         // the weight of ASCII and of neighbours
	accents    int         // accented letters behind others
	weight     int
}

type character struct {
	r     rune
	times int
}

// byLanguage takes the least unusual of all readings that are valid for the
// whole head. A NUL is never text here, and other control characters nearly
// never.
func byLanguage(h head) (Encoding, bool) {
	if bytes.IndexByte(h.bytes, 0) >= 0 || oddControls(h.bytes)*64 > len(h.bytes) {
		return Encoding{}, false
	}
	sample := sampleOf(h)
	readings := readingsOf(sample)
	slices.SortStableFunc(readings, func(a, b reading) int { return cmp.Compare(a.weight, b.weight) })
	for _, r := range readings {
		if _, ok := r.encoding.strict(h); ok {
			return r.encoding, believable(sample.bytes, r.weight)
		}
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

// sampleOf is the lines that are not ASCII only, 2 KiB of them. The line feed is
// part of no longer character in any encoding weighed here.
func sampleOf(h head) head {
	const enough = 2 << 10
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
// language that finds it least unusual. They are in the order of the table of
// languages, so that of equals the earlier wins; windows-1252 has its advantage
// already.
func readingsOf(sample head) []reading {
	var readings []reading
	place := map[string]int{}
	for _, p := range prices() {
		for _, name := range p.encodings {
			i, seen := place[name]
			if !seen {
				i = len(readings)
				place[name] = i
				readings = append(readings, read(must(name), sample))
			}
			if r := &readings[i]; r.characters != nil {
				r.weight = min(r.weight, p.weigh(*r))
			}
		}
	}
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.characters == nil })
	for i := range readings {
		if readings[i].encoding.Name() == "windows-1252" {
			readings[i].weight -= margin
		}
	}
	return readings
}

// read decodes the sample. What cannot be decoded has no characters.
func read(e Encoding, sample head) reading {
	out := reading{encoding: e, weight: math.MaxInt}
	s, ok := e.strict(sample)
	if !ok {
		return out
	}
	times := map[rune]int{}
	var n neighbours
	for _, r := range s {
		out.company += n.add(r)
		if r < 0x80 {
			out.company += asciiWeight
			continue
		}
		times[r]++
	}
	out.accents = n.accents
	for r, n := range times {
		out.characters = append(out.characters, character{r, n})
	}
	return out
}
