package output

import "unicode/utf8"

const (
	covered   = -1      // a cell that the character before it covers too
	mostMarks = 4 << 10 // bytes of characters without a width in one row
)

// row is one row of the screen: a cell per column, and what stands over the cells.
type row struct {
	cells  []rune
	marks  map[int][]byte // characters without a width, by the cell that they follow; -1 is before the first
	marked int            // bytes in marks
	soft   bool           // the line goes on in the next row
}

func (r *row) reset() { *r = row{cells: r.cells[:0]} }

func (r *row) empty() bool { return len(r.cells) == 0 && r.marked == 0 }

func (r *row) full() bool { return r.marked >= mostMarks }

// write puts ASCII at x, which is at most where the row ends.
func (r *row) write(x int, p []byte) {
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
func (r *row) set(x int, c rune, w int) {
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
func (r *row) mark(x int, c rune) {
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
func (r *row) free(x, n int) {
	if x >= len(r.cells) {
		return
	}
	r.split(x)
	r.split(min(x+n, len(r.cells)))
	r.unmark(x, min(x+n, len(r.cells)))
}

// split turns a character that lies across the border before x into spaces.
func (r *row) split(x int) {
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

func (r *row) unmark(from, to int) {
	if r.marked == 0 {
		return
	}
	for i := from; i < to; i++ {
		r.marked -= len(r.marks[i])
		delete(r.marks, i)
	}
}

func (r *row) blank(n int) {
	for range n {
		r.cells = append(r.cells, ' ')
	}
}

// erase clears from x to the end, from the beginning to x, or all, as CSI K does.
func (r *row) erase(mode, x int) {
	switch mode {
	case 0:
		r.cut(x)
	case 1:
		r.overwrite(0, x+1)
	case 2:
		r.reset()
	}
}

func (r *row) cut(x int) {
	if x < len(r.cells) {
		r.free(x, len(r.cells)-x)
		r.cells = r.cells[:x]
		r.soft = false
	}
}

// overwrite puts spaces over n cells from x on, as far as there are cells.
func (r *row) overwrite(x, n int) {
	r.free(x, n)
	for i := x; i < min(x+n, len(r.cells)); i++ {
		r.cells[i] = ' '
	}
}

// remove takes n cells out; what follows moves to the left.
func (r *row) remove(x, n int) {
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
func (r *row) insert(x, n int) {
	r.split(x)
	r.unmark(x, len(r.cells))
	old := len(r.cells)
	r.blank(n)
	copy(r.cells[x+n:], r.cells[x:old])
	for i := x; i < x+n; i++ {
		r.cells[i] = ' '
	}
	if len(r.cells) > columns {
		r.split(columns)
		r.cells = r.cells[:columns]
	}
}

func (r *row) appendTo(out []byte) []byte {
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
