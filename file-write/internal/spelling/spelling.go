// Package spelling says which name a file system may understand when it is given
// another: rules that speak of names are asked about what the name means, not about
// how it is written.
//
// It refuses to ask the file system. What is a second name on any system is one
// here on all of them, since a Linux server may write to a disk that came from
// Windows or a Mac; a rule is then kept once too often rather than once too rarely.
package spelling

import (
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Plain is one component of a path without what may be left out of it or put into it
// with the same file still meant: case, with the two letters beyond ASCII that fold
// to it (U+017F, U+212A); the normal form; the stream of NTFS after a colon; dots and
// spaces at the end, which Windows drops; and the characters that HFS+ ignores
// (CVE-2014-9390). Names with the same plain form may be one file.
func Plain(component string) string {
	if i := strings.IndexByte(component, ':'); i > 0 {
		component = component[:i]
	}
	folded := norm.NFC.String(strings.Map(fold, component))
	return strings.TrimRight(folded, ". ")
}

// fold is the letter that r is compared as, or -1 where r is ignored.
func fold(r rune) rune {
	switch {
	case r == '\u017f':
		return 's'
	case ignored(r):
		return -1
	}
	return unicode.ToLower(r)
}

// ignored are the code points that HFS+ leaves out of a comparison, as git lists
// them in next_hfs_char of utf8.c.
func ignored(r rune) bool {
	return '\u200c' <= r && r <= '\u200f' || '\u202a' <= r && r <= '\u202e' || '\u206a' <= r && r <= '\u206f' || r == '\ufeff'
}

// The parts of an 8.3 name, in bytes.
const (
	shortStem = 8 // with the tilde and its number
	shortExt  = 3
	shortHead = 6 // of the long name, before ~1
	hashHead  = 2 // of the long name, before the four digits of a hash: GI7EBA~1
)

// IsShort says whether a plain name has the form of an 8.3 name that was made of a
// longer one: GIT~1, MCP~1.JSO.
func IsShort(plain string) bool {
	_, _, ok := cutShort(plain)
	return ok
}

// IsShortOf says whether a plain name can be the 8.3 name of the plain name long.
// Any number after the tilde will do: it depends on what else was there.
func IsShortOf(plain, long string) bool {
	head, ext, ok := cutShort(plain)
	if !ok {
		return false
	}
	longStem, longExt := shortParts(long)
	if ext != longExt {
		return false
	}
	room := shortStem - (len(plain) - len(head) - len(path.Ext(plain))) // what ~NN leaves
	return head == longStem[:min(len(longStem), room, shortHead)] || isHashOf(head, longStem)
}

// cutShort splits a short name into what stands before the tilde and the extension
// without its dot.
func cutShort(plain string) (head, ext string, ok bool) {
	dotted := path.Ext(plain)
	stem := plain[:len(plain)-len(dotted)]
	head, number, found := strings.Cut(stem, "~")
	ok = found && head != "" && number != "" && len(head) <= shortHead && len(stem) <= shortStem &&
		len(dotted) <= 1+shortExt && strings.Trim(number, "0123456789") == ""
	return head, strings.TrimPrefix(dotted, "."), ok
}

// shortParts is what Windows makes a short name of: no leading dots, no other dots
// and spaces in the stem, three bytes of extension.
func shortParts(long string) (stem, ext string) {
	long = strings.TrimLeft(long, ".")
	dotted := path.Ext(long)
	stem = strings.NewReplacer(".", "", " ", "").Replace(long[:len(long)-len(dotted)])
	ext = strings.TrimPrefix(dotted, ".")
	return stem, ext[:min(len(ext), shortExt)]
}

// isHashOf finds the form that NTFS takes after four names with the same beginning.
func isHashOf(head, longStem string) bool {
	n := min(len(longStem), hashHead)
	return len(head) == n+4 && head[:n] == longStem[:n] && strings.Trim(head[n:], "0123456789abcdef") == ""
}
