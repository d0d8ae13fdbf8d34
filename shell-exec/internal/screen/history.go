package screen

// historyBytes bounds the memory of the lines that scrolled away, whatever their number.
const historyBytes = 16 << 20

const lineCost = 48 // bytes that an empty line takes

// Page is some of the numbered lines of a screen.
type Page struct {
	Lines []string
	Start int64 // the number of the first of them
	Lost  int64 // how many between the start asked for and Start are gone
	First int64 // the oldest line that is kept
	Total int64 // lines there are, the lost ones counted
	More  bool  // there are lines after these
}

// history is the lines that scrolled away, oldest first: a ring that grows until it
// has most places.
type history struct {
	ring     []line
	start    int // where in the ring the oldest is
	count    int
	first    int64 // the number of the oldest
	limit    int   // lines
	maxBytes int   // bytes
	bytes    int
}

// next is the number of the line that scrolls away next.
func (h *history) next() int64 { return h.first + int64(h.count) }

func (h *history) push(l line) {
	if h.limit == 0 {
		h.first++
		return
	}
	if h.count == h.limit {
		h.drop()
	}
	if h.count == len(h.ring) {
		ring := make([]line, min(max(2*len(h.ring), 64), h.limit))
		n := copy(ring, h.ring[h.start:])
		copy(ring[n:], h.ring[:h.start])
		h.ring, h.start = ring, 0
	}
	h.ring[(h.start+h.count)%len(h.ring)] = l
	h.count++
	h.bytes += l.cost()
	for h.bytes > h.maxBytes {
		h.drop()
	}
}

// drop loses the oldest line: its number is never used again.
func (h *history) drop() {
	h.bytes -= h.ring[h.start].cost()
	h.ring[h.start] = line{}
	h.start = (h.start + 1) % len(h.ring)
	h.count--
	h.first++
}

// Lines are count lines from the number start on, of the history and the primary
// screen together: line 0 is the first ever written, and once a line has scrolled
// away its number and its text stay. A negative start counts from the end. Where lines
// from start on are lost, the page begins with the oldest that is kept. The alternate
// screen has no lines of its own here.
func (s *Screen) Lines(start int64, count int, ansi bool) Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	primary := s.rows
	if s.alternate {
		primary = s.hidden
	}
	p := Page{First: s.history.first, Total: s.history.next() + int64(used(primary))}
	if start < 0 {
		start = max(p.Total+start, p.First)
	}
	p.Start = min(max(start, p.First), p.Total)
	p.Lost = max(p.First-start, 0)
	end := min(p.Start+int64(max(count, 0)), p.Total)
	p.More = end < p.Total
	p.Lines = make([]string, 0, end-p.Start)
	for n := p.Start; n < end; n++ {
		var l line
		if n < s.history.next() {
			l = s.history.ring[(s.history.start+int(n-s.history.first))%len(s.history.ring)]
		} else {
			l = s.line(primary[n-s.history.next()])
		}
		if ansi {
			p.Lines = append(p.Lines, l.ansi())
		} else {
			p.Lines = append(p.Lines, l.uncolored())
		}
	}
	return p
}

// used is how many rows there are down to the last that is not blank.
func used(rows []row) int {
	n := len(rows)
	for n > 0 && rows[n-1].blank() {
		n--
	}
	return n
}
