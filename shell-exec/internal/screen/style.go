package screen

import (
	"strconv"
	"strings"
)

// colour is nothing, one of 256, or red, green and blue.
type colour uint32

const (
	indexed colour = 1 << 24
	direct  colour = 2 << 24
)

type attributes uint16

const (
	bold attributes = 1 << iota
	faint
	italic
	underlined
	blinking
	reversed
	concealed
	struck
	overlined
)

// visible are the attributes that show on a blank.
const visible = underlined | reversed | struck | overlined

// codes are what SGR calls each attribute, in the order of the bits.
var codes = [...]int{1, 2, 3, 4, 5, 7, 8, 9, 53}

type style struct {
	front, back colour
	attributes  attributes
}

// sgr sets this style whatever came before.
func (s style) sgr(b *strings.Builder) {
	b.WriteString("\x1b[0")
	for i, code := range codes {
		if s.attributes&(1<<i) != 0 {
			b.WriteByte(';')
			b.WriteString(strconv.Itoa(code))
		}
	}
	s.front.sgr(b, 30)
	s.back.sgr(b, 40)
	b.WriteByte('m')
}

func (c colour) sgr(b *strings.Builder, base int) {
	n := int(c & 0xff)
	var codes []int
	switch {
	case c == 0:
	case c&direct != 0:
		codes = []int{base + 8, 2, int(c >> 16 & 0xff), int(c >> 8 & 0xff), n}
	case n < 8:
		codes = []int{base + n}
	case n < 16:
		codes = []int{base + 60 + n - 8}
	default:
		codes = []int{base + 8, 5, n}
	}
	for _, code := range codes {
		b.WriteByte(';')
		b.WriteString(strconv.Itoa(code))
	}
}

// span says that from a byte of a line's text on, its style is this one.
type span struct {
	at    uint16 // a row of MaxWidth cells of maxMarks bytes fits
	style style
}

// line is a row as text.
type line struct {
	content string
	spans   []span
}

func (l line) cost() int { return lineCost + len(l.content) + 16*cap(l.spans) }

func (l line) uncolored() string {
	if len(l.spans) == 0 {
		return l.content
	}
	return strings.TrimRight(l.content, " ")
}

func (l line) ansi() string {
	if len(l.spans) == 0 {
		return l.content
	}
	var b strings.Builder
	at := 0
	for _, s := range l.spans {
		b.WriteString(l.content[at:s.at])
		s.style.sgr(&b)
		at = int(s.at)
	}
	b.WriteString(l.content[at:])
	if l.spans[len(l.spans)-1].style != (style{}) {
		style{}.sgr(&b)
	}
	return b.String()
}

// rendition changes the pen as SGR says.
func (s *Screen) rendition() {
	if s.count == 0 {
		s.pen = style{}
	}
	for i := 0; i < s.count; {
		end := i + 1
		for end < s.count && s.sub&(1<<end) != 0 {
			end++
		}
		switch group := s.params[i:end]; {
		case group[0] == 38 || group[0] == 48 || group[0] == 58:
			i = s.colour(group, i, end)
			continue
		case group[0] == 4 && len(group) > 1:
			s.pen.attributes &^= underlined
			if group[1] != 0 {
				s.pen.attributes |= underlined
			}
		case len(group) == 1:
			s.pen.set(max(group[0], 0))
		}
		i = end
	}
}

// colour reads 38;5;n and 38;2;r;g;b, or the same with colons as one group, and says
// where the next group begins.
func (s *Screen) colour(group []int, i, end int) int {
	rest := group[1:]
	if len(group) == 1 {
		rest = s.params[end:s.count]
	}
	var c colour
	used := 0
	switch {
	case len(rest) >= 2 && rest[0] == 5:
		c, used = indexed|colour(rest[1]&0xff), 2
	case len(rest) >= 4 && rest[0] == 2:
		if len(group) > 5 {
			rest = rest[1:] // 38:2:space:r:g:b
		}
		c, used = direct|colour(rest[1]&0xff)<<16|colour(rest[2]&0xff)<<8|colour(rest[3]&0xff), 4
	case len(rest) > 0 && (rest[0] == 5 || rest[0] == 2):
		used = len(rest) // not all of a colour: nothing else either
	}
	switch {
	case c == 0:
	case group[0] == 38:
		s.pen.front = c
	case group[0] == 48:
		s.pen.back = c
	}
	if len(group) > 1 {
		return end
	}
	return end + used
}

// offs are the codes that take attributes away.
var offs = map[int]attributes{
	22: bold | faint, 23: italic, 24: underlined, 25: blinking, 27: reversed, 28: concealed, 29: struck, 55: overlined,
}

var ons = map[int]attributes{
	1: bold, 2: faint, 3: italic, 4: underlined, 5: blinking, 6: blinking, 7: reversed, 8: concealed, 9: struck, 21: underlined, 53: overlined,
}

func (p *style) set(n int) {
	switch {
	case n == 0:
		*p = style{}
	case n >= 30 && n <= 37:
		p.front = indexed | colour(n-30)
	case n == 39:
		p.front = 0
	case n >= 40 && n <= 47:
		p.back = indexed | colour(n-40)
	case n == 49:
		p.back = 0
	case n >= 90 && n <= 97:
		p.front = indexed | colour(n-90+8)
	case n >= 100 && n <= 107:
		p.back = indexed | colour(n-100+8)
	default:
		p.attributes = p.attributes&^offs[n] | ons[n]
	}
}
