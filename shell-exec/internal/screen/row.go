package screen

import "unicode/utf8"

// maxMarks bounds what one cell holds after its first character: enough for every
// emoji that Unicode recommends, and for sixteen accents.
const maxMarks = 32 // bytes

const (
	blank  rune = 0  // nothing was written here
	second rune = -1 // the right half of the wide character before
)

type cell struct {
	char  rune
	style style
	marks string // what combines with char
}

// row is the cells of a row as far as it was written to, and the background of the
// rest: so erasing costs nothing, and neither does a wide screen that is empty.
type row struct {
	cells []cell
	fill  colour
}

// shown is the row on a screen of this width.
func (r row) shown(width int) row {
	if len(r.cells) > width {
		r.cells = r.cells[:width:width]
	}
	return r
}

// cut takes away what a narrower screen hid, since the row is written to.
func (r *row) cut(width int) {
	if len(r.cells) > width {
		r.split(width)
		r.cells = r.cells[:width]
	}
}

// pad makes the row at least n cells long.
func (r *row) pad(n int) {
	for len(r.cells) < n {
		r.cells = append(r.cells, cell{style: style{back: r.fill}})
	}
}

// split makes blanks of a wide character across a column.
func (r *row) split(at int) {
	if at > 0 && at < len(r.cells) && r.cells[at].char == second {
		r.cells[at-1] = cell{style: r.cells[at-1].style}
		r.cells[at] = cell{style: r.cells[at-1].style}
	}
}

// erase makes blanks of the columns from a up to b.
func (r *row) erase(a, b, width int, back colour) {
	r.cut(width)
	r.split(a)
	r.split(b)
	if b >= width {
		if r.fill != back {
			r.pad(a)
		}
		r.cells, r.fill = r.cells[:min(a, len(r.cells))], back
		return
	}
	if r.fill != back {
		r.pad(b)
	}
	for i := a; i < min(b, len(r.cells)); i++ {
		r.cells[i] = cell{style: style{back: back}}
	}
}

// insert moves what is at column a and after by n to the right.
func (r *row) insert(a, n, width int, back colour) {
	r.cut(width)
	r.split(a)
	if a >= len(r.cells) && r.fill == back {
		return
	}
	r.pad(min(max(a, len(r.cells)), width))
	n = min(n, width-a)
	r.split(width - n)
	if len(r.cells) > width-n {
		r.cells = r.cells[:width-n]
	}
	for range n {
		r.cells = append(r.cells, cell{})
	}
	copy(r.cells[a+n:], r.cells[a:len(r.cells)-n])
	for i := a; i < a+n; i++ {
		r.cells[i] = cell{style: style{back: back}}
	}
}

// remove takes n columns away at a; what is after them moves to the left.
func (r *row) remove(a, n, width int, back colour) {
	r.cut(width)
	n = min(n, width-a)
	r.split(a)
	r.split(a + n)
	if r.fill != back {
		r.pad(width)
		r.fill = back
	}
	if a < len(r.cells) {
		r.cells = append(r.cells[:a], r.cells[min(a+n, len(r.cells)):]...)
	}
}

func (r *row) blank() bool {
	for i := range r.cells {
		if !r.cells[i].empty() {
			return false
		}
	}
	return true
}

// empty says that a cell is like one that was never written to.
func (c *cell) empty() bool {
	return (c.char == blank || c.char == ' ') && c.marks == "" && c.style.back == 0 && c.style.attributes&visible == 0
}

// line is the row as text, without blanks at its end that do not show.
func (s *Screen) line(r row) line {
	end := len(r.cells)
	for end > 0 && r.cells[end-1].empty() {
		end--
	}
	text := s.scratch[:0]
	var spans []span
	var last style
	for i := range r.cells[:end] {
		c := &r.cells[i]
		if c.char == second {
			continue
		}
		if c.style != last {
			spans = append(spans, span{at: uint16(len(text)), style: c.style})
			last = c.style
		}
		if c.char > blank && c.char < utf8.RuneSelf {
			text = append(text, byte(c.char))
		} else {
			text = utf8.AppendRune(text, max(c.char, ' '))
		}
		text = append(text, c.marks...)
	}
	s.scratch = text
	return line{content: string(text), spans: spans}
}
