package screen

import (
	"bytes"
	"slices"
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
	return render(raw)
}

func render(parts ...[]byte) string {
	r := &renderer{parser: parser{stray: true}, rows: []*textRow{{}}, home: -1, purse: maxPurse}
	for _, p := range parts {
		r.parse(r, p)
	}
	for r.pending > 0 {
		r.takePending(r)
	}
	for _, line := range r.rows {
		r.out = line.appendTo(r.out)
	}
	if last := r.rows[len(r.rows)-1]; !last.soft {
		r.out = r.out[:len(r.out)-1] // the last line has no end unless one was written
	}
	return string(r.out)
}

// isText says that raw is lines of characters and nothing else.
func isText(raw []byte) bool {
	control := func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 }
	for i, b := range raw {
		if b >= utf8.RuneSelf {
			return utf8.Valid(raw[i:]) && !bytes.ContainsFunc(raw[i:], control)
		}
		if control(rune(b)) {
			return false
		}
	}
	return true
}

const (
	renderWidth = 1024 // of a row, a multiple of the tab width
	renderRows  = 128  // that can still be changed
	pageRows    = 64   // that a page of a full-screen program can have
	tabWidth    = 8
	maxPurse    = 1 << 16 // spaces and lines beyond what was read
)

// renderer is rows of cells with a cursor, which is on a row and not above the page. Rows that go out at the top are text.
type renderer struct {
	parser
	out            []byte
	rows           []*textRow
	x, y           int
	savedX, savedY int
	home           int // the row where a page begins, or -1 where there is none

	// purse is how many blanks may be made by moving the cursor: a few bytes can ask for a thousand, over and over, and
	// the answer must stay in proportion to what was read. Each byte read pays for one; paid is how many did.
	purse, paid int
}

func (r *renderer) spend(n int) int {
	r.purse = min(r.purse+r.read-r.paid, maxPurse)
	r.paid = r.read
	n = min(n, r.purse)
	r.purse -= n
	return n
}

// ascii shows printable ASCII.
func (r *renderer) ascii(p []byte) {
	for len(p) > 0 {
		if r.x >= renderWidth {
			r.wrap()
		}
		r.reach()
		n := min(len(p), renderWidth-r.x)
		r.rows[r.y].write(r.x, p[:n])
		r.x += n
		p = p[n:]
	}
}

// print shows one character. One without a width is added to the one before the cursor.
func (r *renderer) print(c rune) {
	width := Columns(c)
	switch {
	case width > 0:
		if r.x+width > renderWidth {
			r.wrap()
		}
		r.reach()
		r.rows[r.y].set(r.x, c, width)
		r.x += width
	case width == 0:
		r.reach()
		if line := r.rows[r.y]; line.marked >= maxRowMarks {
			if r.x < len(line.cells) {
				return
			}
			r.wrap()
		}
		r.rows[r.y].mark(r.x-1, c)
	}
}

func (r *renderer) control(b byte) {
	switch b {
	case '\n', '\v', '\f':
		r.x = 0
		r.index()
	case '\r':
		r.x = 0
	case '\b':
		r.x = max(r.x-1, 0)
	case '\t': // is shown as what it is at the end of a line, and elsewhere moves the cursor
		if r.x >= renderWidth {
			r.wrap()
		}
		to := r.x - r.x%tabWidth + tabWidth
		if line := r.rows[r.y]; r.x >= len(line.cells) {
			r.reach()
			to = r.x - r.x%tabWidth + tabWidth
			line.set(r.x, '\t', to-r.x)
		}
		r.x = to
	}
}

// reach fills the gap between the end of the line and the cursor, or moves the cursor where that is too dear.
func (r *renderer) reach() {
	line := r.rows[r.y]
	if gap := r.x - len(line.cells); gap > 0 {
		line.blank(r.spend(gap))
		r.x = len(line.cells)
	}
}

func (r *renderer) wrap() {
	r.rows[r.y].soft = true
	r.x = 0
	r.index()
}

func (r *renderer) index() {
	if r.y++; r.y == len(r.rows) {
		r.grow()
	}
}

// grow adds a row at the end; the first one goes out where there are too many.
func (r *renderer) grow() {
	if len(r.rows) < renderRows {
		r.rows = append(r.rows, &textRow{})
		return
	}
	first := r.rows[0]
	r.out = first.appendTo(r.out)
	first.reset()
	r.rows = append(r.rows[1:], first)
	r.y--
	r.savedY = max(r.savedY-1, 0)
	if r.home > 0 {
		r.home--
	}
}

func (r *renderer) up(n int)     { r.y = max(r.y-n, r.home, 0) } // not above the page
func (r *renderer) down(n int)   { r.y = min(r.y+n, len(r.rows)-1) }
func (r *renderer) column(x int) { r.x = min(max(x, 0), renderWidth-1) }

func (r *renderer) escapeSequence(b byte) {
	if r.middle != 0 {
		return
	}
	switch b {
	case 'D':
		r.index()
	case 'E':
		r.control('\n')
	case 'M':
		r.up(1)
	case '7':
		r.savedX, r.savedY = r.x, r.y
	case '8':
		r.x, r.y = r.savedX, max(min(r.savedY, len(r.rows)-1), r.home)
	case 'c':
		r.clear()
	}
}

func (r *renderer) stringSequence() {}

// controlSequence obeys one that moves the cursor or changes what is there. Of the private ones only the erasing ones are known.
func (r *renderer) controlSequence(b byte) {
	if r.middle != 0 || r.prefix != 0 && (r.prefix != '?' || b != 'J' && b != 'K') {
		return
	}
	n, mode, line := r.param(0, 1), r.param(0, 0), r.rows[r.y]
	switch b {
	case 'A':
		r.up(n)
	case 'B', 'e':
		r.down(n)
	case 'C', 'a':
		r.column(r.x + n)
	case 'D':
		r.column(r.x - n)
	case 'E':
		r.x = 0
		r.down(n)
	case 'F':
		r.x = 0
		r.up(n)
	case 'G', '`':
		r.column(n - 1)
	case 'H', 'f':
		r.position(n-1, r.param(1, 1)-1)
	case 'd':
		r.position(n-1, r.x)
	case 's':
		r.escapeSequence('7')
	case 'u':
		r.escapeSequence('8')

	case 'J': // from the cursor to the end, from the beginning of the page to the cursor, or the page
		switch mode {
		case 0:
			line.cut(r.x)
			r.rows = r.rows[:r.y+1]
		case 1:
			line.overwrite(0, r.x+1)
			for y := r.home; r.home >= 0 && y < r.y; y++ {
				r.rows[y].reset()
			}
		case 2:
			r.clear()
		}
	case 'K': // the same of the row
		switch mode {
		case 0:
			line.cut(r.x)
		case 1:
			line.overwrite(0, r.x+1)
		case 2:
			line.reset()
		}
	case 'X':
		line.overwrite(r.x, n)
	case 'P':
		line.remove(r.x, n)
	case '@':
		if r.x < len(line.cells) {
			line.insert(r.x, r.spend(min(n, renderWidth-r.x)))
		}
	case 'L':
		for range r.spend(min(n, pageRows, renderRows-len(r.rows))) {
			r.rows = slices.Insert(r.rows, r.y, &textRow{})
		}
	case 'M':
		r.rows = slices.Delete(r.rows, r.y, min(r.y+n, len(r.rows)))
		if r.y == len(r.rows) {
			r.rows = append(r.rows, &textRow{})
		}
	}
}

// position goes to a place on the page, which begins here if there is none.
func (r *renderer) position(y, x int) {
	r.page()
	for y = min(y, pageRows-1); r.home+y >= len(r.rows) && r.spend(1) == 1; {
		r.grow()
	}
	r.y = min(r.home+y, len(r.rows)-1)
	r.column(x)
}

// page begins a page below all that was shown, unless there is one already.
func (r *renderer) page() {
	if r.home >= 0 {
		return
	}
	if last := r.rows[len(r.rows)-1]; len(last.cells) > 0 || last.marked > 0 {
		r.grow()
	}
	r.home = len(r.rows) - 1
	r.y = r.home
}

func (r *renderer) clear() {
	r.page()
	r.rows = r.rows[:r.y+1]
	for _, line := range r.rows[r.home:] {
		line.reset()
	}
}

const (
	covered     = -1      // a cell that the character before it covers too
	maxRowMarks = 4 << 10 // bytes of characters without a width in one row
)

// textRow is a row without colours: a cell per column, and the marks over the cells.
type textRow struct {
	cells  []rune
	marks  map[int][]byte // characters without a width, by the cell that they follow; -1 is before the first
	marked int            // bytes in marks
	soft   bool           // the line continues in the next row
}

func (r *textRow) reset() { *r = textRow{cells: r.cells[:0]} }

// write puts ASCII at x, which is at most where the row ends.
func (r *textRow) write(x int, p []byte) {
	r.free(x, len(p))
	for _, b := range p[:min(len(p), len(r.cells)-x)] {
		r.cells[x] = rune(b)
		x++
		p = p[1:]
	}
	for _, b := range p {
		r.cells = append(r.cells, rune(b))
	}
}

// set puts a character of w columns at x, which is at most where the row ends.
func (r *textRow) set(x int, c rune, w int) {
	r.free(x, w)
	for i := range w {
		if x+i == len(r.cells) {
			r.cells = append(r.cells, 0)
		}
		r.cells[x+i] = covered
	}
	r.cells[x] = c
}

// mark puts a character without a width after the cell x.
func (r *textRow) mark(x int, c rune) {
	for x >= 0 && r.cells[x] == covered {
		x--
	}
	if r.marks == nil {
		r.marks = map[int][]byte{}
	}
	r.marks[x] = utf8.AppendRune(r.marks[x], c)
	r.marked += utf8.RuneLen(c)
}

// free makes n cells from x on nobody's: a wide character that is only half among them leaves spaces.
func (r *textRow) free(x, n int) {
	if x >= len(r.cells) {
		return
	}
	r.split(x)
	r.split(min(x+n, len(r.cells)))
	r.unmark(x, min(x+n, len(r.cells)))
}

// split turns a character across the border before x into spaces.
func (r *textRow) split(x int) {
	if x >= len(r.cells) || r.cells[x] != covered {
		return
	}
	from, to := x-1, x
	for r.cells[from] == covered {
		from--
	}
	for to < len(r.cells) && r.cells[to] == covered {
		to++
	}
	for i := from; i < to; i++ {
		r.cells[i] = ' '
	}
	r.unmark(from, from+1)
}

func (r *textRow) unmark(from, to int) {
	if r.marked == 0 {
		return
	}
	for i := from; i < to; i++ {
		r.marked -= len(r.marks[i])
		delete(r.marks, i)
	}
}

func (r *textRow) blank(n int) {
	for range n {
		r.cells = append(r.cells, ' ')
	}
}

func (r *textRow) cut(x int) {
	if x < len(r.cells) {
		r.free(x, len(r.cells)-x)
		r.cells = r.cells[:x]
		r.soft = false
	}
}

// overwrite puts spaces over n cells from x on, as far as there are cells.
func (r *textRow) overwrite(x, n int) {
	r.free(x, n)
	for i := x; i < min(x+n, len(r.cells)); i++ {
		r.cells[i] = ' '
	}
}

// remove takes n cells out; what follows moves to the left.
func (r *textRow) remove(x, n int) {
	if x >= len(r.cells) {
		return
	}
	n = min(n, len(r.cells)-x)
	r.free(x, n)
	r.unmark(x, len(r.cells))
	r.cells = append(r.cells[:x], r.cells[x+n:]...)
	r.soft = false
}

// insert puts n spaces in at x; what follows moves to the right, and out at the end.
func (r *textRow) insert(x, n int) {
	r.split(x)
	r.unmark(x, len(r.cells))
	old := len(r.cells)
	r.blank(n)
	copy(r.cells[x+n:], r.cells[x:old])
	for i := x; i < x+n; i++ {
		r.cells[i] = ' '
	}
	if len(r.cells) > renderWidth {
		r.split(renderWidth)
		r.cells = r.cells[:renderWidth]
	}
}

func (r *textRow) appendTo(out []byte) []byte {
	if r.marked > 0 {
		out = append(out, r.marks[-1]...)
	}
	for x, c := range r.cells {
		if c >= 0 && c < utf8.RuneSelf {
			out = append(out, byte(c))
		} else if c != covered {
			out = utf8.AppendRune(out, c)
		}
		if r.marked > 0 {
			out = append(out, r.marks[x]...)
		}
	}
	if r.soft {
		return out
	}
	return append(out, '\n')
}
