package screen

import "unicode/utf8"

const (
	maxParams      = 32
	maxParam       = 1 << 16 // larger numbers are this one
	maxString      = 4096    // bytes kept of an OSC or DCS; the rest is read and forgotten
	maxStrayString = 4 << 20 // bytes of a string in a file of output; a longer one is no string, and what follows is text
)

// mode is where in a sequence the parser is.
type mode uint8

const (
	ground     mode = iota
	escape          // after ESC
	designate       // after ESC and an intermediate byte
	sequence        // in the parameters of a CSI
	text            // in an OSC, DCS, APC, PM, SOS or screen title
	textEscape      // in one of these after ESC
)

// handler does what a parser reads.
type handler interface {
	ascii(p []byte)         // printable ASCII
	print(r rune)           // any other character, and ASCII after bytes that are no UTF-8
	control(b byte)         // a control character below the space
	escapeSequence(b byte)  // ESC and b; middle is what came between
	controlSequence(b byte) // a CSI that ends in b
	stringSequence()        // an OSC, DCS and the like that is complete
}

// parser finds characters and sequences in bytes that are cut anywhere. What it knows of those that are not complete:
type parser struct {
	// stray reads files of output: controls of eight bits count, what belongs in no sequence ends it, and so does a line
	// feed in a title.
	stray bool

	mode      mode
	params    [maxParams]int // -1 where none was given
	count     int
	sub       uint32 // bit i: parameter i came after a colon
	prefix    byte   // one of < = > ?
	middle    byte   // the intermediate byte; 0xff where there were two after ESC: none that we know
	malformed bool   // this CSI cannot be one
	kind      byte   // of the string: the byte after ESC
	string    []byte
	length    int // of the string

	utf     [utf8.UTFMax]byte
	pending int // bytes in utf
	read    int // bytes in all
}

// parse reads the next bytes.
func (p *parser) parse(h handler, text []byte) {
	for len(text) > 0 {
		n := 1
		switch {
		case p.pending > 0 || !utf8.FullRune(text): // the first byte, and a character that it completes
			p.utf[p.pending] = text[0]
			p.pending++
			for p.pending > 0 && utf8.FullRune(p.utf[:p.pending]) {
				p.takePending(h)
			}
		case p.mode == ground && isPrintable(text[0]):
			for n < len(text) && isPrintable(text[n]) {
				n++
			}
			p.read += n
			h.ascii(text[:n])
		default:
			var r rune
			r, n = utf8.DecodeRune(text)
			p.character(h, r, text[:n])
		}
		text = text[n:]
	}
}

func isPrintable(b byte) bool { return b >= ' ' && b <= '~' }

// takePending reads the first of the bytes that were kept.
func (p *parser) takePending(h handler) {
	r, n := utf8.DecodeRune(p.utf[:p.pending])
	p.character(h, r, p.utf[:n])
	p.pending = copy(p.utf[:], p.utf[n:p.pending])
}

// character reads one character; raw is its bytes.
func (p *parser) character(h handler, c rune, raw []byte) {
	p.read += len(raw)
	if p.mode == textEscape {
		if c == '\\' {
			p.mode = ground
			h.stringSequence()
			return
		}
		p.mode = escape // another sequence begins in place of the string
	}
	switch {
	case c == 0x1b:
		if p.mode == text {
			p.mode = textEscape
		} else {
			p.mode = escape
		}
	case c == 0x18 || c == 0x1a: // CAN, SUB
		p.mode = ground
	case p.mode == text:
		p.textCharacter(h, c, raw)
	case c < ' ':
		h.control(byte(c))
	case c >= utf8.RuneSelf && (p.mode == ground || p.stray):
		p.mode = ground
		if p.stray && c < 0xa0 {
			p.escapeByte(h, byte(c)-'@') // as two characters of seven bits
		} else {
			h.print(c)
		}
	case c >= 0x7f:
	case p.mode == ground:
		h.print(c)
	case p.mode == escape:
		p.escapeByte(h, byte(c))
	case p.mode == sequence:
		p.sequenceByte(h, byte(c))
	case c < '0':
		p.middle = 0xff
	default:
		p.mode = ground
		h.escapeSequence(byte(c))
	}
}

func (p *parser) escapeByte(h handler, b byte) {
	switch {
	case b == '[':
		p.mode = sequence
		p.count, p.sub, p.prefix, p.middle, p.malformed = 0, 0, 0, 0, false
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_' || b == 'k':
		p.mode, p.kind, p.string, p.length = text, b, p.string[:0], 0
	case b < '0':
		p.mode, p.middle = designate, b
	default:
		p.mode, p.middle = ground, 0
		h.escapeSequence(b)
	}
}

func (p *parser) sequenceByte(h handler, b byte) {
	switch {
	case b >= '@':
		p.mode = ground
		p.count = min(p.count, maxParams)
		h.controlSequence(b)
		return
	case b < '0':
		p.malformed = p.malformed || p.middle != 0
		p.middle = b
		return
	case b >= '<':
		p.malformed = p.malformed || p.middle != 0 || p.count > 0 || p.prefix != 0
		if p.prefix == 0 || b != '?' {
			p.prefix = b
		}
		return
	}
	p.malformed = p.malformed || p.middle != 0
	if p.count == 0 {
		p.params[0], p.count = -1, 1
	}
	switch {
	case p.count > maxParams:
	case b <= '9':
		n := &p.params[p.count-1]
		*n = min(max(*n, 0)*10+int(b-'0'), maxParam)
	case p.count == maxParams:
		p.count++ // those that follow have no place
	default:
		if b == ':' {
			p.sub |= 1 << p.count
		}
		p.params[p.count] = -1
		p.count++
	}
}

// param is a parameter, or without it, or with a zero where that means the same, what
// goes for it.
func (p *parser) param(i, without int) int {
	if i < p.count && i < maxParams && p.params[i] > 0 {
		return p.params[i]
	}
	return without
}

func (p *parser) textCharacter(h handler, c rune, raw []byte) {
	p.length += len(raw)
	title := p.kind == ']' || p.kind == 'k'
	switch {
	case c == '\a' && p.kind == ']':
		p.mode = ground
		h.stringSequence()
	case p.stray && (c == 0x9c || c == '\a' && title || p.length > maxStrayString):
		p.mode = ground
	case p.stray && c == '\n' && title: // no title has one: it was not ended
		p.mode = ground
		h.control('\n')
	case c >= ' ' && (p.kind == ']' || p.kind == 'P'):
		p.string = append(p.string, raw[:min(len(raw), maxString-len(p.string))]...)
	}
}
