package output

import (
	"slices"

	display "github.com/multiollama/mcp-server/shell-exec/internal/screen"
)

const (
	columns  = 1024 // of a row, a multiple of the tab width
	mostRows = 128  // that can still be changed
	pageRows = 64   // that a page of a full-screen program can have
	tabWidth = 8
	mostOwed = 1 << 16 // spaces and lines beyond what was read
)

// screen is rows of cells with a cursor, which is on a row and not above the page. Rows that go out at the top are text.
type screen struct {
	out    []byte
	rows   []*row
	x, y   int
	sx, sy int // where save was
	home   int // the row where a page begins, or -1 where there is none

	// purse is how many blanks may be made by moving the cursor: a few bytes can ask for a thousand, over and over, and
	// the answer must stay in proportion to what was read.
	purse int
}

func newScreen() screen { return screen{rows: []*row{{}}, home: -1, purse: mostOwed} }

func (s *screen) pay(n int) { s.purse = min(s.purse+n, mostOwed) }

func (s *screen) spend(n int) int {
	n = min(n, s.purse)
	s.purse -= n
	return n
}

func (s *screen) row() *row { return s.rows[s.y] }

// text shows printable ASCII.
func (s *screen) text(p []byte) {
	for len(p) > 0 {
		if s.x >= columns {
			s.wrap()
		}
		s.reach()
		n := min(len(p), columns-s.x)
		s.row().write(s.x, p[:n])
		s.x += n
		p = p[n:]
	}
}

// put shows one character.
func (s *screen) put(c rune) {
	w := display.Columns(c)
	if w == 0 {
		s.mark(c)
		return
	}
	if s.x+w > columns {
		s.wrap()
	}
	s.reach()
	s.row().set(s.x, c, w)
	s.x += w
}

// mark adds a character without a width to the one before the cursor.
func (s *screen) mark(c rune) {
	s.reach()
	if s.row().full() {
		if s.x < len(s.row().cells) {
			return
		}
		s.wrap()
	}
	s.row().mark(s.x-1, c)
}

// tab is shown as what it is at the end of a line, and elsewhere moves the cursor.
func (s *screen) tab() {
	if s.x >= columns {
		s.wrap()
	}
	to := s.x - s.x%tabWidth + tabWidth
	if s.x < len(s.row().cells) {
		s.x = to
		return
	}
	s.reach()
	to = s.x - s.x%tabWidth + tabWidth
	s.row().set(s.x, '\t', to-s.x)
	s.x = to
}

// reach fills the gap between the end of the line and the cursor, or moves the cursor where that is too dear.
func (s *screen) reach() {
	r := s.row()
	if gap := s.x - len(r.cells); gap > 0 {
		r.blank(s.spend(gap))
		s.x = len(r.cells)
	}
}

func (s *screen) wrap() {
	s.row().soft = true
	s.newline()
}

func (s *screen) newline() {
	s.x = 0
	s.index()
}

func (s *screen) index() {
	if s.y++; s.y == len(s.rows) {
		s.grow()
	}
}

// grow adds a row at the end; the first one goes out where there are too many.
func (s *screen) grow() {
	if len(s.rows) < mostRows {
		s.rows = append(s.rows, &row{})
		return
	}
	first := s.rows[0]
	s.out = first.appendTo(s.out)
	first.reset()
	s.rows = append(s.rows[1:], first)
	s.y--
	s.sy = max(s.sy-1, 0)
	if s.home > 0 {
		s.home--
	}
}

func (s *screen) up(n int)   { s.y = max(s.y-n, s.home, 0) } // not above the page
func (s *screen) down(n int) { s.y = min(s.y+n, len(s.rows)-1) }

func (s *screen) save()    { s.sx, s.sy = s.x, s.y }
func (s *screen) restore() { s.x, s.y = s.sx, max(min(s.sy, len(s.rows)-1), s.home) }

// obey does what a control sequence says that ends in c.
func (s *screen) obey(c rune, a, b int) {
	n := max(a, 1)
	switch c {
	case 'A':
		s.up(n)
	case 'B', 'e':
		s.down(n)
	case 'C', 'a':
		s.column(s.x + n)
	case 'D':
		s.column(s.x - n)
	case 'E':
		s.column(0)
		s.down(n)
	case 'F':
		s.column(0)
		s.up(n)
	case 'G', '`':
		s.column(n - 1)
	case 'H', 'f':
		s.position(n-1, max(b, 1)-1)
	case 'd':
		s.position(n-1, s.x)
	case 'J':
		s.erase(a)
	case 's':
		s.save()
	case 'u':
		s.restore()
	default:
		s.change(c, a, n)
	}
}

// change does what changes the row of the cursor.
func (s *screen) change(c rune, a, n int) {
	r := s.row()
	switch c {
	case 'K':
		r.erase(a, s.x)
	case 'X':
		r.overwrite(s.x, n)
	case 'P':
		r.remove(s.x, n)
	case '@':
		if s.x < len(r.cells) {
			r.insert(s.x, s.spend(min(n, columns-s.x)))
		}
	case 'L':
		for range s.spend(min(n, pageRows, mostRows-len(s.rows))) {
			s.rows = slices.Insert(s.rows, s.y, &row{})
		}
	case 'M':
		n = min(n, len(s.rows)-s.y)
		s.rows = append(s.rows[:s.y], s.rows[s.y+n:]...)
		if s.y == len(s.rows) {
			s.rows = append(s.rows, &row{})
		}
	}
}

func (s *screen) column(x int) { s.x = min(max(x, 0), columns-1) }

// position goes to a place on the page, which begins here if there is none.
func (s *screen) position(y, x int) {
	s.page()
	for y = min(y, pageRows-1); s.home+y >= len(s.rows) && s.spend(1) == 1; {
		s.grow()
	}
	s.y = min(s.home+y, len(s.rows)-1)
	s.column(x)
}

// page begins a page below all that was shown, unless there is one already.
func (s *screen) page() {
	if s.home >= 0 {
		return
	}
	if last := s.rows[len(s.rows)-1]; !last.empty() {
		s.grow()
	}
	s.home = len(s.rows) - 1
	s.y = s.home
}

// erase clears from the cursor to the end, from the beginning to the cursor, or the page.
func (s *screen) erase(mode int) {
	switch mode {
	case 0:
		s.row().erase(0, s.x)
		s.rows = s.rows[:s.y+1]
	case 1:
		s.row().erase(1, s.x)
		for y := max(s.home, 0); y < s.y && s.home >= 0; y++ {
			s.rows[y].reset()
		}
	case 2:
		s.clear()
	}
}

func (s *screen) clear() {
	s.page()
	s.rows = s.rows[:s.y+1]
	for _, r := range s.rows[s.home:] {
		r.reset()
	}
}

// finish is everything as text. The last line has no end unless one was written.
func (s *screen) finish() string {
	for _, r := range s.rows {
		s.out = r.appendTo(s.out)
	}
	if last := s.rows[len(s.rows)-1]; !last.soft {
		s.out = s.out[:len(s.out)-1]
	}
	return string(s.out)
}
