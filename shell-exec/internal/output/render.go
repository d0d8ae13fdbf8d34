package output

import (
	"bytes"
	"unicode/utf8"
)

// Render is raw as a terminal would show it, as lines: what a carriage return, a backspace or a movement of the cursor
// overwrote is gone, colours and titles are too, and every byte that is no UTF-8 is shown as U+FFFD. Text without
// controls is returned as it is, whatever its length. A terminal is endless downwards here; of its lines the newest 128
// can still be changed, and a line wider than 1024 columns is one that wrapped, so that memory besides the answer is
// bounded and time is linear. What clears the screen for the first time begins a page below, and later repaints it.
func Render(raw []byte) string {
	if isText(raw) { // most of it is
		return string(raw)
	}
	r := newRenderer()
	r.write(raw)
	return r.finish()
}

// isText says that raw is lines of characters and nothing else.
func isText(raw []byte) bool {
	for i, b := range raw {
		if b >= utf8.RuneSelf {
			return utf8.Valid(raw[i:]) && !bytes.ContainsFunc(raw[i:], isControl)
		}
		if isControl(rune(b)) {
			return false
		}
	}
	return true
}

func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 }

const (
	mostParams = 8
	mostParam  = 1 << 16
	mostString = 4 << 20 // bytes of a control string; a longer one is no string, and what follows is text
)

type state uint8

const (
	ground  state = iota
	escape        // after ESC
	charset       // after ESC and an intermediate: the next final byte ends it
	control       // CSI
	title         // OSC: ends at BEL, ST or, since no title has one, a line feed
	device        // DCS, SOS, PM, APC: ends at ST
)

// renderer reads a stream that may be cut anywhere and acts on a screen.
type renderer struct {
	screen screen
	state  state
	params [mostParams]int
	count  int  // of params that were begun
	asked  bool // a ? before the parameters: of a private sequence only the erasing ones are known
	other  bool // another private or an intermediate byte: no sequence that is known
	length int  // of the control string
	rest   [utf8.UTFMax]byte
	kept   int // bytes of a character in rest that is not whole yet
}

func newRenderer() *renderer { return &renderer{screen: newScreen()} }

func (r *renderer) write(p []byte) {
	for len(p) > 0 {
		if n := r.plain(p); n > 0 {
			r.screen.pay(n)
			r.screen.text(p[:n])
			p = p[n:]
			continue
		}
		p = r.next(p)
	}
}

// plain is how many bytes at the beginning of p are printable ASCII that is to be shown.
func (r *renderer) plain(p []byte) int {
	if r.state != ground || r.kept > 0 {
		return 0
	}
	for i, b := range p {
		if b < ' ' || b > '~' {
			return i
		}
	}
	return len(p)
}

// next takes one character from p, or one byte towards it.
func (r *renderer) next(p []byte) []byte {
	if r.kept == 0 && utf8.FullRune(p) {
		c, n := utf8.DecodeRune(p)
		r.feed(c, n)
		return p[n:]
	}
	r.rest[r.kept] = p[0]
	r.kept++
	for r.kept > 0 && utf8.FullRune(r.rest[:r.kept]) {
		r.shift()
	}
	return p[1:]
}

func (r *renderer) shift() {
	c, n := utf8.DecodeRune(r.rest[:r.kept])
	copy(r.rest[:], r.rest[n:r.kept])
	r.kept -= n
	r.feed(c, n)
}

func (r *renderer) finish() string {
	for r.kept > 0 {
		r.shift()
	}
	return r.screen.finish()
}

const (
	esc = 0x1b
	bel = 0x07
	st  = 0x9c
)

func (r *renderer) feed(c rune, n int) {
	r.screen.pay(n)
	switch {
	case c == esc: // ends whatever was begun
		r.state = escape
	case c == 0x18 || c == 0x1a: // CAN and SUB
		r.state = ground
	case r.state == ground:
		r.show(c)
	case r.state == title || r.state == device:
		r.skip(c, n)
	default:
		r.sequence(c)
	}
}

func (r *renderer) show(c rune) {
	if c < ' ' || c >= 0x7f && c < 0xa0 {
		r.act(c)
		return
	}
	r.screen.put(c)
}

// act obeys a control character, C0 or C1.
func (r *renderer) act(c rune) {
	s := &r.screen
	switch c {
	case '\n', '\v', '\f', 0x85:
		s.newline()
	case '\r':
		s.x = 0
	case '\b':
		s.x = max(s.x-1, 0)
	case '\t':
		s.tab()
	case 0x84:
		s.index()
	case 0x8d:
		s.up(1)
	case 0x9b:
		r.begin()
	case 0x9d:
		r.state, r.length = title, 0
	case 0x90, 0x98, 0x9e, 0x9f:
		r.state, r.length = device, 0
	}
}

func (r *renderer) begin() {
	r.state, r.count, r.asked, r.other = control, 0, false, false
	r.params = [mostParams]int{}
}

// skip leaves out a control string.
func (r *renderer) skip(c rune, n int) {
	r.length += n
	switch {
	case c == st || r.length > mostString || r.state == title && c == bel:
		r.state = ground
	case r.state == title && c == '\n':
		r.state = ground
		r.act(c)
	}
}

// sequence goes on with one that ESC began.
func (r *renderer) sequence(c rune) {
	switch {
	case c < ' ':
		r.act(c) // is obeyed within a sequence
	case c == 0x7f:
	case c > 0x7f: // no sequence has it
		r.state = ground
		r.show(c)
	case r.state == control:
		r.control(c)
	case c < '0':
		r.state = charset
	case r.state == charset:
		r.state = ground
	default:
		r.escape(c)
	}
}

func (r *renderer) escape(c rune) {
	r.state = ground
	switch c {
	case 'k': // the title of a window of screen(1)
		r.state, r.length = title, 0
	case '7':
		r.screen.save()
	case '8':
		r.screen.restore()
	case 'c':
		r.screen.clear()
	default:
		if c >= '@' && c <= '_' {
			r.act(c + 0x40)
		}
	}
}

// control takes a byte of a control sequence: its parameters, and at last what it is.
func (r *renderer) control(c rune) {
	switch {
	case c >= '0' && c <= '9':
		r.count = max(r.count, 1)
		if r.count <= mostParams {
			p := &r.params[r.count-1]
			*p = min(*p*10+int(c-'0'), mostParam)
		}
	case c == ';' || c == ':':
		r.count = min(max(r.count, 1)+1, mostParams+1)
	case c == '?':
		r.asked = true
	case c < '@':
		r.other = true
	default:
		r.state = ground
		if !r.other && (!r.asked || c == 'J' || c == 'K') {
			r.screen.obey(c, r.params[0], r.params[1])
		}
	}
}
