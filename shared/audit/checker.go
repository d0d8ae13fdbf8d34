package audit

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
)

// checker walks the lines of a log in order and keeps what the next one must
// be. Its memory grows with the number of breaks, not of events.
type checker struct {
	view   *view
	result Result
	broken []found

	next    uint64   // the number the next line must have, 0 before the first
	hashes  []string // what its prev may be; empty where it cannot be known
	damaged uint64   // lines since the last good one that are not events: each may have been one
	gaps    []gap    // events not seen so far

	order int     // of the file, over the whole log
	at    place   // the line that is looked at
	good  place   // the last good one
	prior rotated // the file before this one
}

type place struct {
	order  int // of the file
	file   string
	number int // of the file, 0 for the current one
	line   int
	offset int64
}

type found struct {
	place place
	Break
}

// gap is a run of missing events and the line before which they are missed.
type gap struct {
	from, to uint64
	place    place
	file     string // that is missing as a whole, or empty
}

// file checks one file.
func (c *checker) file(p part) error {
	c.result.Files++
	c.order++
	c.at = place{order: c.order, file: filepath.Base(p.path), number: p.number}
	for line, err := range lines(p.content) {
		if err != nil {
			return err
		}
		c.at.line++
		k, err := linkOf(line.text)
		switch {
		case !line.whole && c.beyondHead(): // what a crash left
			c.result.Unfinished = line.size
		case !line.whole:
			c.damage(Truncated, "the last line ends in the middle")
		case err != nil:
			c.damage(Malformed, "the line is no audit event")
		case !k.true:
			c.damage(Changed, "the line does not have the hash it states")
		default:
			c.event(k)
		}
		c.at.offset += line.size
	}
	c.prior = rotated{p.path, p.number}
	return nil
}

// beyondHead says that the line was written after the head record.
func (c *checker) beyondHead() bool {
	return c.view.sealed && c.at.number == 0 && c.at.offset >= c.view.head.Size
}

// damage notes a line that is not an event. It may have been the one expected here.
func (c *checker) damage(kind, text string) {
	c.note(c.at, c.expected(), kind, text)
	c.damaged++
}

// expected is the number that comes next if every damaged line was an event.
func (c *checker) expected() uint64 {
	if c.next == 0 {
		return max(1, c.view.head.From) + c.damaged
	}
	return c.next + c.damaged
}

// event takes in a line that is whole in itself.
func (c *checker) event(k link) {
	if c.next == 0 {
		c.begin(k.Seq)
	}
	switch missing := k.Seq - c.next; {
	case c.fill(k.Seq):
		c.note(c.at, k.Seq, Reordered, fmt.Sprintf("event %d stands behind event %d", k.Seq, c.next-1))
	case k.Seq < c.next:
		c.note(c.at, k.Seq, Inserted, fmt.Sprintf("there is more than one event %d", k.Seq))
		if k.Seq == c.next-1 { // either of the two may be the true one
			c.hashes = append(c.hashes, k.hash)
		}
		return
	case c.view.sealed && k.Seq > c.view.head.Seq && !c.beyondHead():
		c.note(c.at, k.Seq, Inserted, fmt.Sprintf("event %d is later than the last one, %d", k.Seq, c.view.head.Seq))
		return
	default: // the expected event, or a later one
		if missing > c.damaged {
			c.miss(c.next+c.damaged, k.Seq-1)
		}
		if missing == 0 && len(c.hashes) > 0 && !slices.Contains(c.hashes, k.Prev) {
			// The line before states its own hash but not the one that this line recorded: it
			// was rewritten together with its hash.
			if c.good.line == 0 {
				c.note(c.at, c.next, Changed, "the first event names one before it")
			} else {
				c.note(c.good, c.next-1, Changed, fmt.Sprintf("event %d does not have the hash that event %d recorded", c.next-1, c.next))
			}
		}
		c.next, c.hashes, c.damaged, c.good = k.Seq+1, []string{k.hash}, 0, c.at
	}

	c.result.Events++
	if c.result.First.IsZero() {
		c.result.First = k.Time
	}
	c.result.Last = k.Time
	if len(c.hashes) > 0 {
		c.result.Head = c.hashes[0]
	}
}

// begin settles with the first event where the chain begins. Only the head record knows what
// Keep pruned; files that it pruned and that are still there do no harm.
func (c *checker) begin(seq uint64) {
	c.next = max(1, c.view.head.From)
	if !c.view.sealed || seq < c.next {
		c.next = max(1, seq-min(seq, c.damaged))
	}
	c.result.From = c.next
	if c.next == 1 {
		c.hashes = []string{""}
	}
}

// miss notes a gap before this line, or a whole file where the numbers of the
// files have one as well.
func (c *checker) miss(from, to uint64) {
	g := gap{from: from, to: to, place: c.at}
	before := c.at.number - 1
	if c.at.number == 0 {
		before = c.view.head.Rotated
	}
	if c.at.line == 1 && before > c.prior.number {
		g.file = filepath.Base(rotatedPath(c.view.path, before))
	}
	c.gaps = append(c.gaps, g)
}

// fill takes a number out of the gap it is in.
func (c *checker) fill(seq uint64) bool {
	i := slices.IndexFunc(c.gaps, func(g gap) bool { return g.from <= seq && seq <= g.to })
	if i < 0 {
		return false
	}
	left, right := c.gaps[i], c.gaps[i]
	left.to, right.from = seq-1, seq+1
	rest := slices.DeleteFunc([]gap{left, right}, func(g gap) bool { return g.from > g.to })
	c.gaps = slices.Replace(c.gaps, i, i+1, rest...)
	return true
}

func (c *checker) note(at place, seq uint64, kind, text string) {
	if len(c.broken) == maxBroken {
		c.result.Omitted++
		return
	}
	c.broken = append(c.broken, found{at, Break{File: at.file, Line: at.line, Seq: seq, Kind: kind, Text: text}})
}

// end compares what was found with the head record.
func (c *checker) end() Result {
	c.atHead()
	for _, g := range c.gaps {
		text := fmt.Sprintf("events %d to %d are missing here", g.from, g.to)
		if g.from == g.to {
			text = fmt.Sprintf("event %d is missing here", g.from)
		}
		at := g.place
		if g.file != "" {
			at.file, at.line = g.file, 0
			text = fmt.Sprintf("the file with events %d to %d is missing", g.from, g.to)
		}
		c.note(at, g.from, Removed, text)
	}
	slices.SortStableFunc(c.broken, func(a, b found) int {
		return cmp.Or(a.place.order-b.place.order, a.place.line-b.place.line)
	})
	for _, f := range c.broken {
		c.result.Broken = append(c.result.Broken, f.Break)
	}
	return c.result
}

// atHead looks for what is missing at the end.
func (c *checker) atHead() {
	seal := place{order: c.order + 2, file: filepath.Base(headPath(c.view.path))}
	h := c.view.head
	if !c.view.sealed {
		c.note(seal, c.expected(), Removed, "the head record is missing, so that events removed from the end cannot be missed")
		return
	}
	if h.Rebuilt > 0 {
		text := fmt.Sprintf("the head record was lost and made anew after event %d: events that followed it may be missing", h.Rebuilt)
		c.note(seal, h.Rebuilt, Removed, text)
	}
	have := c.expected()
	if have > h.Seq {
		if c.damaged == 0 && c.next == h.Seq+1 && h.Seq > 0 && !slices.Contains(c.hashes, h.Hash) {
			c.note(c.good, h.Seq, Changed, fmt.Sprintf("event %d does not have the hash of the head record", h.Seq))
		}
		return
	}

	// The gap behind the last line, or the newest file if that is missing.
	g := gap{from: have, to: h.Seq, place: place{order: c.order + 1, file: filepath.Base(c.view.path), line: 1}}
	switch {
	case c.view.current == nil && h.Size > 0:
		g.file = g.place.file
	case c.at.number == 0 && c.at.line > 0:
		g.place = c.at
		g.place.line++
	case h.Rotated > newest(c.view.old):
		g.file = filepath.Base(rotatedPath(c.view.path, h.Rotated))
	}
	c.gaps = append(c.gaps, g)
}
