package screen

import "unicode/utf8"

const (
	maxParams = 32
	maxParam  = 1 << 16 // larger numbers are this one
	maxString = 4096    // bytes kept of an OSC or DCS; the rest is read and forgotten
)

// mode is where in a sequence the parser is.
type mode uint8

const (
	ground     mode = iota
	escape          // after ESC
	designate       // after ESC and an intermediate byte
	sequence        // in the parameters of a CSI
	discard         // in a CSI that cannot be one
	text            // in an OSC, DCS, APC, PM, SOS or screen title
	textEscape      // in one of these after ESC
)

// parser is what is known of a sequence, or of a character, that is not complete.
type parser struct {
	mode   mode
	params [maxParams]int // -1 where none was given
	count  int
	sub    uint32 // bit i: parameter i came after a colon
	prefix byte   // one of < = > ?
	middle byte   // the intermediate byte
	kind   byte   // of the string: the byte after ESC
	string []byte

	utf     [utf8.UTFMax]byte
	pending int // bytes in utf
}

func plain(p []byte) int {
	for i, b := range p {
		if b < ' ' || b > '~' {
			return i
		}
	}
	return len(p)
}

// step handles one byte.
func (s *Screen) step(b byte) {
	switch {
	case s.pending > 0 || s.mode == ground && b >= utf8.RuneSelf:
		s.character(b)
	case s.mode == text:
		s.textByte(b)
	case s.mode == textEscape:
		s.endText(b)
	case b == 0x1b:
		s.mode = escape
	case b == 0x18 || b == 0x1a: // CAN, SUB
		s.mode = ground
	case b < ' ':
		s.control(b)
	case s.mode == ground:
		if b != 0x7f {
			s.print(rune(b))
		}
	case b >= 0x7f:
	case s.mode == escape:
		s.escapeByte(b)
	case s.mode == designate:
		s.designateByte(b)
	default:
		s.sequenceByte(b)
	}
}

// character collects the bytes of a rune.
func (s *Screen) character(b byte) {
	s.utf[s.pending] = b
	s.pending++
	p := s.utf[:s.pending]
	if !utf8.FullRune(p) {
		return
	}
	s.pending = 0
	r, n := utf8.DecodeRune(p)
	s.print(r)
	rest := s.utf
	for _, b := range rest[n:len(p)] {
		s.step(b)
	}
}

func (s *Screen) escapeByte(b byte) {
	s.middle = 0
	switch {
	case b == '[':
		s.mode = sequence
		s.count, s.sub, s.prefix, s.middle = 0, 0, 0, 0
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_' || b == 'k':
		s.mode, s.kind, s.string = text, b, s.string[:0]
	case b < '0':
		s.mode, s.middle = designate, b
	default:
		s.mode = ground
		s.escapeSequence(b)
	}
}

func (s *Screen) designateByte(b byte) {
	if b < '0' {
		s.middle = 0xff // two intermediate bytes: none that we know
		return
	}
	s.mode = ground
	switch s.middle {
	case '(':
		s.drawing[0] = b == '0'
	case ')':
		s.drawing[1] = b == '0'
	}
}

func (s *Screen) sequenceByte(b byte) {
	switch {
	case b >= '@':
		known := s.mode == sequence
		s.mode = ground
		if known {
			s.controlSequence(b)
		}
	case s.mode == discard:
	case b < '0':
		if s.middle != 0 {
			s.mode = discard
		}
		s.middle = b
	case s.middle != 0:
		s.mode = discard
	case b >= '<':
		if s.count > 0 || s.prefix != 0 {
			s.mode = discard
		}
		s.prefix = b
	default:
		s.parameter(b)
	}
}

func (s *Screen) parameter(b byte) {
	if s.count == 0 {
		s.params[0], s.count = -1, 1
	}
	switch {
	case s.count > maxParams:
	case b <= '9':
		n := &s.params[s.count-1]
		*n = min(max(*n, 0)*10+int(b-'0'), maxParam)
	case s.count == maxParams:
		s.count++ // those that follow have no place
	default:
		if b == ':' {
			s.sub |= 1 << s.count
		}
		s.params[s.count] = -1
		s.count++
	}
}

// param is a parameter, or without it, or with a zero where that means the same, what
// goes for it.
func (s *Screen) param(i, without int) int {
	if i < s.count && i < maxParams && s.params[i] > 0 {
		return s.params[i]
	}
	return without
}

func (s *Screen) textByte(b byte) {
	switch {
	case b == 0x1b:
		s.mode = textEscape
	case b == 0x18 || b == 0x1a:
		s.mode = ground
	case b == 0x07 && s.kind == ']':
		s.mode = ground
		s.stringSequence()
	case b >= ' ' && len(s.string) < maxString && (s.kind == ']' || s.kind == 'P'):
		s.string = append(s.string, b)
	}
}

// endText is the byte after an ESC within a string: a backslash ends it, and any other
// begins a sequence in its stead.
func (s *Screen) endText(b byte) {
	if b == '\\' {
		s.mode = ground
		s.stringSequence()
		return
	}
	s.mode = escape
	s.step(b)
}
