package guard

// A rule that speaks of a name must also apply to the other names by which a file system
// finds the same file. What is an alias on any system is one here on all of them, and the
// file system is not asked, since a Linux server may write to a disk that came from Windows
// or a Mac: a rule is then applied once too often rather than once too rarely.

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

// fold is the letter that r is compared as, or -1 where HFS+ leaves it out of a
// comparison, as git lists such code points in next_hfs_char of utf8.c.
func fold(r rune) rune {
	switch {
	case r == '\u017f':
		return 's'
	case '\u200c' <= r && r <= '\u200f', '\u202a' <= r && r <= '\u202e', '\u206a' <= r && r <= '\u206f', r == '\ufeff':
		return -1
	}
	return unicode.ToLower(r)
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
	// Windows makes a short name of the stem without dots and spaces, leading dots of the
	// name left out, and of three bytes of extension.
	long = strings.TrimLeft(long, ".")
	dotted := path.Ext(long)
	stem := strings.NewReplacer(".", "", " ", "").Replace(long[:len(long)-len(dotted)])
	longExt := strings.TrimPrefix(dotted, ".")
	if ext != longExt[:min(len(longExt), shortExt)] {
		return false
	}
	left := shortStem - (len(plain) - len(head) - len(path.Ext(plain))) // what ~NN leaves
	if head == stem[:min(len(stem), left, shortHead)] {
		return true
	}
	// After four names with the same beginning, NTFS takes a hash.
	n := min(len(stem), hashHead)
	return len(head) == n+4 && head[:n] == stem[:n] && strings.Trim(head[n:], "0123456789abcdef") == ""
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
