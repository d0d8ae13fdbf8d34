package screen

import (
	"slices"
	"unicode/utf8"
)

// position is what the cursor saves and restores.
type position struct {
	x, y     int
	wrapNext bool // the last column was written to: the next character goes to the next row
	pen      style
	drawing  [2]bool // G0, G1: line drawing characters
	shift    int     // which of them is in use
	origin   bool    // rows count from the top of the region
}

// state is what a reset brings back to its beginning.
type state struct {
	position
	saved        [2]position // of the primary and of the alternate screen
	top, bottom  int         // the first and the last row of the scroll region
	noWrap       bool
	insert       bool
	newLine      bool // a line feed returns the carriage too
	cursorHidden bool
	keys         Modes
	mouse        uint16 // which mouse modes are on
	last         rune   // for REP
	joined       bool   // the last character ended in a zero width joiner
}

func (s *Screen) reset() {
	s.state = state{bottom: s.size.Height - 1}
	s.tabs = [MaxWidth]bool{}
	for i := 0; i < MaxWidth; i += 8 {
		s.tabs[i] = true
	}
}

// ascii shows printable ASCII characters, of which print would make the same one by one.
func (s *Screen) ascii(p []byte) {
	s.joined = false
	s.last = rune(p[len(p)-1])
	for len(p) > 0 {
		if s.noWrap || s.insert || s.drawing[s.shift] {
			s.print(rune(p[0]))
			p = p[1:]
			continue
		}
		s.wrap()
		n := min(len(p), s.size.Width-s.x)
		cells := s.cells(n)
		for i, b := range p[:n] {
			cells[i] = cell{char: rune(b), style: s.pen}
		}
		s.advance(n)
		p = p[n:]
	}
}

// cells are the n cells at the cursor, with no wide character across either end.
func (s *Screen) cells(n int) []cell {
	r := &s.rows[s.y]
	r.cut(s.size.Width)
	r.split(s.x)
	r.split(s.x + n)
	r.pad(s.x + n)
	return r.cells[s.x : s.x+n]
}

// wrap goes to the next row if the last character filled this one.
func (s *Screen) wrap() {
	if s.wrapNext {
		s.x, s.wrapNext = 0, false
		s.lineFeed()
	}
}

func (s *Screen) advance(n int) {
	s.x += n
	if s.x >= s.size.Width {
		s.x, s.wrapNext = s.size.Width-1, !s.noWrap
	}
}

// print shows a character.
func (s *Screen) print(r rune) {
	if s.drawing[s.shift] && r >= '`' && r <= '~' {
		r = lineDrawing[r-'`']
	}
	width := Columns(r)
	if width < 0 {
		return
	}
	if s.combines(r, width) {
		s.joined = r == joiner
		c := s.before()
		if c == nil || len(c.marks)+utf8.RuneLen(r) > maxMarks {
			return
		}
		if c.char == blank {
			c.char = ' '
		}
		c.marks += string(r)
		return
	}
	if width == 0 || width > s.size.Width {
		return
	}
	s.last, s.joined = r, false
	s.wrap()
	if s.x+width > s.size.Width {
		if s.noWrap {
			return
		}
		s.x = 0
		s.lineFeed()
	}
	if s.insert {
		s.rows[s.y].insert(s.x, width, s.size.Width, s.pen.back)
	}
	cells := s.cells(width)
	cells[0] = cell{char: r, style: s.pen}
	if width == 2 {
		cells[1] = cell{char: second, style: s.pen}
	}
	s.advance(width)
}

// before is the cell of the character before the cursor, if there is one.
func (s *Screen) before() *cell {
	r := s.rows[s.y].shown(s.size.Width)
	x := s.x
	if !s.wrapNext {
		x--
	}
	if x > 0 && x < len(r.cells) && r.cells[x].char == second {
		x--
	}
	if x < 0 || x >= len(r.cells) {
		return nil
	}
	return &r.cells[x]
}

// combines says whether a character belongs to the one before it: a mark, a skin
// tone, or what a joiner joins to a picture.
func (s *Screen) combines(r rune, width int) bool {
	if r < utf8.RuneSelf {
		return false
	}
	if width == 0 {
		return true
	}
	if !s.joined && !(r >= 0x1f3fb && r <= 0x1f3ff) {
		return false
	}
	c := s.before()
	return c != nil && pictures(r) && pictures(c.char)
}

func (s *Screen) lineFeed() {
	switch s.y {
	case s.bottom:
		s.scrollUp(1)
	case s.size.Height - 1:
	default:
		s.y++
	}
}

// scrollUp moves the rows of the region up by n. What leaves the screen at its top
// goes to the history.
func (s *Screen) scrollUp(n int) {
	if s.top == 0 && !s.alternate {
		for i := range min(n, s.bottom+1) {
			s.history.push(s.line(s.rows[i]))
		}
	}
	s.raise(s.top, n)
}

// raise moves the rows of the region from a row on up by n, and lower moves them down;
// the rows that come free are blank.
func (s *Screen) raise(from, n int) {
	region := s.rows[from : s.bottom+1]
	if n == 1 { // nearly always
		first := region[0]
		copy(region, region[1:])
		region[len(region)-1] = row{cells: first.cells[:0], fill: s.pen.back}
		return
	}
	n = min(n, len(region))
	moved := slices.Clone(region[:n])
	copy(region, region[n:])
	for i := range n {
		region[len(region)-n+i] = row{cells: moved[i].cells[:0], fill: s.pen.back}
	}
}

func (s *Screen) lower(from, n int) {
	region := s.rows[from : s.bottom+1]
	n = min(n, len(region))
	moved := slices.Clone(region[len(region)-n:])
	copy(region[n:], region)
	for i := range n {
		region[i] = row{cells: moved[i].cells[:0], fill: s.pen.back}
	}
}

func (s *Screen) eraseRows(from, to int) {
	for i := from; i < to; i++ {
		s.rows[i] = row{cells: s.rows[i].cells[:0], fill: s.pen.back}
	}
}

// eraseScreen blanks all of it. The primary screen scrolls away rather than being
// lost, as in tmux: a program that clears it began something new.
func (s *Screen) eraseScreen() {
	if !s.alternate {
		for i := range used(s.rows) {
			s.history.push(s.line(s.rows[i]))
		}
	}
	s.eraseRows(0, s.size.Height)
}

// switchTo shows the primary or the alternate screen.
func (s *Screen) switchTo(alternate bool) {
	if s.alternate == alternate {
		return
	}
	if s.hidden == nil {
		s.hidden = make([]row, s.size.Height)
	}
	s.rows, s.hidden = s.hidden, s.rows
	s.alternate = alternate
	s.wrapNext = false
}

func (s *Screen) save() {
	s.saved[s.which()] = s.position
}

func (s *Screen) restore() {
	s.position = s.saved[s.which()]
	s.x = min(s.x, s.size.Width-1)
	s.y = min(s.y, s.size.Height-1)
}

func (s *Screen) which() int {
	if s.alternate {
		return 1
	}
	return 0
}
