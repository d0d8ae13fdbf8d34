package confine

import (
	"strings"
	"unicode/utf8"

	"github.com/multiollama/mcp-server/shared/glob"
)

// sieve tells at the price of a few loads that no rule can name an entry, which is so
// for nearly all. It may only err to the other side: what it holds back is judged in
// full. Letters are compared as if bit 0x20 were set, which also makes some other
// characters equal; names beyond ASCII are always held back.
type sieve struct {
	all    bool         // hold everything back
	whole  [256]uint64  // by first byte: lengths, modulo 64, of names that a rule names
	starts [256]uint64  // by first byte: second bytes, modulo 64, of names that a rule names by their start
	ends   [256]uint64  // by last byte: the bytes before it, of names that a rule names by their end
	last   glob.Pattern // what an entry's name must match for a rule with a slash to name it
}

const folded = 0x20

// holds says whether a rule may name an entry of this name.
func (s *sieve) holds(name string) bool {
	if s.all || name == "" || !ascii(name) {
		return true
	}
	end := len(name) - 1
	first, second := name[0]|folded, name[min(1, end)]|folded
	last, before := name[end]|folded, name[max(end-1, 0)]|folded
	bits := s.whole[first]>>(len(name)%64) | s.starts[first]>>(second%64) | s.ends[last]>>(before%64)
	return bits&1 != 0
}

// add makes the sieve hold back what a pattern of one component names.
func (s *sieve) add(pattern string) {
	head, tail, star := strings.Cut(pattern, "*")
	switch {
	case strings.ContainsAny(pattern, `?[{\`) || !ascii(pattern) || head == "" && tail == "":
		s.all = true
	case !star:
		s.whole[head[0]|folded] |= 1 << (len(head) % 64)
	case head != "":
		s.starts[head[0]|folded] |= neighbours(head[1:], 0)
	default:
		if tail = tail[strings.LastIndexByte(tail, '*')+1:]; tail == "" {
			s.all = true
			return
		}
		s.ends[tail[len(tail)-1]|folded] |= neighbours(tail[:len(tail)-1], len(tail)-2)
	}
}

// neighbours is the bit of byte i of a text that may be too short to have one: then
// it may be any.
func neighbours(text string, i int) uint64 {
	if text == "" {
		return ^uint64(0)
	}
	return 1 << ((text[i] | folded) % 64)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// sieves are what spares most entries the rules.
type sieves struct {
	entries sieve
	dirs    sieve // directories any of whose entries a rule may name
}

// newSieves reads the patterns of rules: those for names, and those for paths, of
// which the last component decides, or where that is a star, the one before it.
func newSieves(names, paths []string) (*sieves, error) {
	s := &sieves{}
	for _, p := range names {
		s.entries.add(p)
	}
	var last []string
	for _, p := range paths {
		i := strings.LastIndexByte(p, '/')
		dir, name := p[:max(i, 0)], p[i+1:]
		switch {
		case strings.ContainsAny(dir, `{[\`) || name == "" || strings.HasSuffix(name, "**"):
			s.dirs.all = true // what the last component is cannot be told from the text
		case name != "*":
			s.entries.add(name)
			last = append(last, name)
		default:
			s.dirs.add(dir[strings.LastIndexByte(dir, '/')+1:])
		}
	}
	var err error
	s.entries.last, err = glob.CompileFoldAny(last...)
	return s, err
}
