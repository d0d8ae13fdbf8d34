package screen

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

const maxTitle = 1024 // bytes

// control handles the control characters below the space.
func (s *Screen) control(b byte) {
	switch b {
	case '\b':
		s.move(s.x-1, s.y)
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.wrapNext = s.wrapNext && !s.newLine
		s.lineFeed()
		if s.newLine {
			s.x = 0
		}
	case '\r':
		s.move(0, s.y)
	case 0x0e, 0x0f: // SO, SI
		s.shift = int(0x0f - b)
	}
	s.joined, s.last = false, 0
}

// move puts the cursor on a column and a row within the screen.
func (s *Screen) move(x, y int) {
	s.x = min(max(x, 0), s.size.Width-1)
	s.y = min(max(y, 0), s.size.Height-1)
	s.wrapNext, s.joined = false, false
}

// up and down stay within the region if they begin in it.
func (s *Screen) up(n int) {
	limit := 0
	if s.y >= s.top {
		limit = s.top
	}
	s.move(s.x, max(s.y-n, limit))
}

func (s *Screen) down(n int) {
	limit := s.size.Height - 1
	if s.y <= s.bottom {
		limit = s.bottom
	}
	s.move(s.x, min(s.y+n, limit))
}

// goTo goes to a row and a column that count from one.
func (s *Screen) goTo(row, column int) {
	if s.origin {
		row = min(row+s.top, s.bottom+1)
	}
	s.move(column-1, row-1)
}

// tab goes n tab stops to the right, or to the left where n is negative.
func (s *Screen) tab(n int) {
	x, step, end := s.x, 1, s.size.Width-1
	if n < 0 {
		n, step, end = -n, -1, 0
	}
	for ; n > 0 && x != end; n-- {
		for x += step; x != end && !s.tabs[x]; x += step {
		}
	}
	s.move(x, s.y)
}

// escapeSequence handles ESC and one byte.
func (s *Screen) escapeSequence(b byte) {
	switch s.middle {
	case 0:
	case '(':
		s.drawing[0] = b == '0'
		return
	case ')':
		s.drawing[1] = b == '0'
		return
	default:
		return
	}
	s.joined, s.last = false, 0
	switch b {
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'D':
		s.lineFeed()
	case 'E':
		s.move(0, s.y)
		s.lineFeed()
	case 'H':
		s.tabs[s.x] = true
	case 'M':
		switch s.y {
		case s.top:
			s.lower(s.top, 1)
		case 0:
		default:
			s.y--
		}
	case 'Z':
		s.reply(primaryAttributes)
	case 'c':
		s.switchTo(false)
		s.eraseScreen()
		s.reset()
		s.eraseRows(0, s.size.Height)
	case '=', '>':
		s.keys.ApplicationKeypad = b == '='
	}
}

// controlSequence handles a CSI whose last byte is b.
func (s *Screen) controlSequence(b byte) {
	if s.malformed {
		return
	}
	last := s.last
	s.joined, s.last = false, 0
	switch {
	case s.middle == '!' && b == 'p':
		s.pen, s.drawing, s.shift, s.origin = style{}, [2]bool{}, 0, false
		s.top, s.bottom = 0, s.size.Height-1
		s.noWrap, s.insert, s.cursorHidden = false, false, false
		s.keys.ApplicationCursor, s.keys.ApplicationKeypad = false, false
		s.saved[s.which()] = position{}
	case s.middle == '$' && b == 'p' && s.prefix == '?':
		n := s.param(0, 0)
		s.reply(fmt.Sprintf("\x1b[?%d;%d$y", n, s.status(n)))
	case s.middle != 0:
	case s.prefix == 0 && b == 'b': // the last character again, as often as the row has place for it
		if last != 0 {
			for range min(s.param(0, 1), s.size.Width-s.edge()) {
				s.print(last)
			}
		}
	case s.prefix == 0:
		s.unprefixedSequence(b)
	case s.prefix == '?':
		switch b {
		case 'h', 'l':
			for _, n := range s.params[:s.count] {
				s.private(n, b == 'h')
			}
		case 'J':
			s.eraseDisplay(min(s.param(0, 0), 2))
		case 'K':
			s.eraseLine(s.param(0, 0))
		case 'n':
			s.report("?")
		}
	case s.prefix == '>' && b == 'c' && s.param(0, 0) == 0:
		s.reply("\x1b[>1;10;0c")
	}
}

// unprefixedSequence handles a CSI without a prefix: what moves the cursor, what edits, and the rest.
func (s *Screen) unprefixedSequence(b byte) {
	n := s.param(0, 1)
	r, x, width, back := &s.rows[s.y], s.edge(), s.size.Width, s.pen.back
	switch b {
	case 'A':
		s.up(n)
	case 'B':
		s.down(n)
	case 'C', 'a':
		s.move(s.x+n, s.y)
	case 'D':
		s.move(s.x-n, s.y)
	case 'E':
		s.down(n)
		s.move(0, s.y)
	case 'F':
		s.up(n)
		s.move(0, s.y)
	case 'G', '`':
		s.move(n-1, s.y)
	case 'H', 'f':
		s.goTo(n, s.param(1, 1))
	case 'I':
		s.tab(n)
	case 'Z':
		s.tab(-n)
	case 'd':
		s.goTo(n, s.x+1)
	case 'e':
		s.move(s.x, s.y+n)

	case '@':
		r.insert(x, n, width, back)
	case 'J':
		s.eraseDisplay(s.param(0, 0))
	case 'K':
		s.eraseLine(s.param(0, 0))
	case 'L', 'M':
		if s.y < s.top || s.y > s.bottom {
			break
		}
		if b == 'L' {
			s.lower(s.y, n)
		} else {
			s.raise(s.y, n)
		}
		s.move(0, s.y)
	case 'P':
		r.remove(x, n, width, back)
	case 'S':
		s.scrollUp(n)
	case 'T':
		s.lower(s.top, n)
	case 'X':
		r.erase(x, min(x+n, width), width, back)

	case 'c':
		if s.param(0, 0) == 0 {
			s.reply(primaryAttributes)
		}
	case 'g':
		switch s.param(0, 0) {
		case 0:
			s.tabs[s.x] = false
		case 3:
			s.tabs = [MaxWidth]bool{}
		}
	case 'h', 'l':
		for _, n := range s.params[:s.count] {
			switch n {
			case 4:
				s.insert = b == 'h'
			case 20:
				s.newLine = b == 'h'
			}
		}
	case 'm':
		s.rendition()
	case 'n':
		s.report("")
	case 'r':
		if top, bottom := s.param(0, 1), min(s.param(1, s.size.Height), s.size.Height); top < bottom {
			s.top, s.bottom = top-1, bottom-1
			s.goTo(1, 1)
		}
	case 's':
		s.save()
	case 'u':
		s.restore()
	case 't':
		if s.param(0, 0) == 18 {
			s.reply(fmt.Sprintf("\x1b[8;%d;%dt", s.size.Height, s.size.Width))
		}
	}
}

// edge is the column from which on a row is erased or moved: none while the cursor
// waits to wrap, or grep's colours would cost the last character of a full row.
func (s *Screen) edge() int {
	if s.wrapNext {
		return s.size.Width
	}
	return s.x
}

func (s *Screen) eraseDisplay(n int) {
	switch n {
	case 0:
		if s.x == 0 && s.y == 0 {
			s.eraseScreen()
			return
		}
		s.eraseLine(0)
		s.eraseRows(s.y+1, s.size.Height)
	case 1:
		s.eraseRows(0, s.y)
		s.eraseLine(1)
	case 2:
		s.eraseScreen()
	case 3:
		if !s.alternate {
			h := &s.history
			h.first = h.next()
			h.ring, h.start, h.count, h.bytes = nil, 0, 0, 0
		}
	}
}

func (s *Screen) eraseLine(n int) {
	from, to := s.edge(), s.size.Width
	switch n {
	case 0:
	case 1:
		from, to = 0, s.x+1
	case 2:
		from = 0
	default:
		return
	}
	s.rows[s.y].erase(from, to, s.size.Width, s.pen.back)
}

// primaryAttributes says: a VT220 with colours.
const primaryAttributes = "\x1b[?62;22c"

// report answers a device status request.
func (s *Screen) report(prefix string) {
	switch s.param(0, 0) {
	case 5:
		s.reply("\x1b[0n")
	case 6:
		row := s.y + 1
		if s.origin {
			row -= s.top
		}
		s.reply(fmt.Sprintf("\x1b[%s%d;%dR", prefix, row, s.x+1))
	}
}

// private sets or resets one of the modes of DEC and xterm.
func (s *Screen) private(n int, on bool) {
	switch n {
	case 1:
		s.keys.ApplicationCursor = on
	case 6:
		s.origin = on
		s.goTo(1, 1)
	case 7:
		s.noWrap = !on
	case 25:
		s.cursorHidden = !on
	case 66:
		s.keys.ApplicationKeypad = on
	case 9, 1000, 1001, 1002, 1003:
		bit := uint16(1) << (n % 10)
		s.mouse &^= bit
		if on {
			s.mouse |= bit
		}
		s.keys.Mouse = s.mouse != 0
	case 2004:
		s.keys.BracketedPaste = on
	case 47, 1047, 1049:
		if on == s.alternate {
			break
		}
		if on && n == 1049 {
			s.save()
		}
		s.switchTo(on)
		if on {
			s.eraseRows(0, s.size.Height)
		} else if n == 1049 {
			s.restore()
		}
	case 1048:
		if on {
			s.save()
		} else {
			s.restore()
		}
	}
}

// status is what DECRPM reports of a private mode: 1 where it is set, 2 where it is not, 0 where it is none of ours.
func (s *Screen) status(n int) int {
	on := false
	switch n {
	case 1:
		on = s.keys.ApplicationCursor
	case 6:
		on = s.origin
	case 7:
		on = !s.noWrap
	case 25:
		on = !s.cursorHidden
	case 66:
		on = s.keys.ApplicationKeypad
	case 9, 1000, 1001, 1002, 1003:
		on = s.mouse&(1<<(n%10)) != 0
	case 2004:
		on = s.keys.BracketedPaste
	case 47, 1047, 1049:
		on = s.alternate
	default:
		return 0
	}
	if on {
		return 1
	}
	return 2
}

// stringSequence handles an OSC or a DCS that is complete: titles, and questions that
// are to be answered since programs wait for the answer.
func (s *Screen) stringSequence() {
	code, value, _ := bytes.Cut(s.string, []byte(";"))
	switch {
	case s.kind == 'P' && bytes.HasPrefix(s.string, []byte("$q")):
		s.reply("\x1bP0$r\x1b\\")
	case s.kind == 'P' && bytes.HasPrefix(s.string, []byte("+q")):
		s.reply("\x1bP0+r\x1b\\")
	case s.kind != ']':
	case string(code) == "0" || string(code) == "2":
		s.title = title(value)
	case string(code) == "10" && string(value) == "?":
		s.reply("\x1b]10;rgb:ffff/ffff/ffff\x1b\\")
	case string(code) == "11" && string(value) == "?":
		s.reply("\x1b]11;rgb:0000/0000/0000\x1b\\")
	}
}

// title is text in one line.
func title(value []byte) string {
	value = value[:min(len(value), maxTitle)]
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(value), ""))
}
