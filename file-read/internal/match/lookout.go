package match

import (
	"context"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
)

// lookout goes through the lines of blocks that match, in order. It does so in one of
// three ways, and changes over from one to another where that is faster:
//
//   - from one place that the seeker finds to the next: only lines with one are
//     looked at, by the machine of the pattern's program;
//   - by the machine alone, over all lines of a part of the block;
//   - by the regexp package, where there is no machine or it has given up.
type lookout struct {
	p       *Pattern
	machine *dfa.Machine // nil before it is needed

	block    []byte
	places   []int // in lines before ahead that the machine found
	returned int   // how many of them next has returned
	ahead    int   // what the machine has been run over

	// What the seeker's places cost, and what they spared, both in bytes that the
	// machine would have looked at in that time; and while they cost too much,
	// bytes that are left to the machine alone.
	spent, spared, alone int
}

// Costs in bytes that the machine looks at in the time.
const (
	missCost = 14  // of a place that only looked like a literal
	lineCost = 100 // of a line that is looked at in vain
	byteCost = 3   // and of each of its bytes

	forgetting = 1 << 20 // after so many bytes spared what was before counts half
)

// begin continues with another block.
func (l *lookout) begin(block []byte) {
	l.block, l.ahead, l.returned, l.places = block, 0, 0, l.places[:0]
}

// next is the first matching line at or after from, which is where a line begins. The
// result is not valid when ctx has ended.
func (l *lookout) next(ctx context.Context, from int) (sighting, bool) {
	for from < len(l.block) && ctx.Err() == nil {
		var m sighting
		var ok bool
		switch {
		case l.returned < len(l.places):
			at := l.places[l.returned]
			l.returned++
			m, ok = sighting{at: at, end: endOfLine(l.block, at)}, true
			if l.p.prog.Approximate() {
				line := l.block[startOfLine(l.block, from, at):m.end]
				if l.unsure(line) && l.p.find(ctx, l.p.whole, line) == nil {
					from, ok = m.end+1, false
				}
			}
		case (l.alone > 0 || l.p.seek.none()) && l.works():
			from = l.run(from)
		case l.p.seek.none(): // by the regexp package, over as many lines at once as one step allows
			end := stepEnd(l.block, from, l.p.step)
			loc := l.p.find(ctx, l.p.whole, l.block[from:end])
			if loc == nil {
				from = end + 1
				continue
			}
			at := from + loc[0]
			m, ok = sighting{at: at, end: endOfLine(l.block, at)}, true
		default:
			m, from, ok = l.bySeeker(ctx, from)
		}
		if ok {
			return m, true
		}
	}
	return sighting{}, false
}

// works reports whether there is a machine that has not given up.
func (l *lookout) works() bool {
	if l.machine == nil && l.p.prog != nil {
		l.machine = l.p.prog.Machine()
	}
	return l.machine != nil && !l.machine.Failed()
}

// bySeeker looks at the next line in which the seeker finds something. If that does not
// match, it returns where the next line begins that may.
func (l *lookout) bySeeker(ctx context.Context, from int) (sighting, int, bool) {
	misses := 0
	at := l.p.seek.next(l.block, from, &misses)
	if at < 0 {
		l.account(misses*missCost, len(l.block)-from)
		return sighting{}, len(l.block), false
	}
	end := endOfLine(l.block, at)
	if l.p.exact {
		l.account(misses*missCost, end+1-from)
		return sighting{at, end, l.p.seek.single != nil}, from, true
	}
	line := l.block[startOfLine(l.block, from, at):end]
	matches := l.works() && l.machine.Line(line)
	if !l.works() || matches && l.unsure(line) {
		matches = l.p.find(ctx, l.p.whole, line) != nil
	}
	if matches {
		l.account(misses*missCost, end+1-from)
		return sighting{at: at, end: end}, from, true
	}
	l.account(misses*missCost+lineCost+byteCost*len(line), end+1-from)
	return sighting{}, end + 1, false
}

// account records what the seeker cost over so many bytes, and leaves the next ones to
// the machine if it is too much.
func (l *lookout) account(cost, bytes int) {
	l.spent += cost
	l.spared += bytes
	if l.spent > l.spared+l.p.sizes.trial && l.works() {
		l.spent, l.spared, l.alone = 0, 0, l.p.sizes.alone
	}
	if l.spared > forgetting {
		l.spent, l.spared = l.spent/2, l.spared/2
	}
}

// mayMatch reports whether there can be a match in a part of a line: there is none
// if there would be none were it a line.
func (l *lookout) mayMatch(part []byte) bool {
	return !l.works() || l.machine.Line(part) || l.machine.Failed()
}

// unsure reports whether the machine may have found a line that does not match.
func (l *lookout) unsure(line []byte) bool {
	return l.p.prog.Approximate() && asciiPrefix(line) < len(line)
}

// run has the machine look for places, and returns where the first may be.
func (l *lookout) run(from int) int {
	from = max(from, l.ahead)
	end := min(len(l.block), stepEnd(l.block, from, l.p.sizes.run)+1)
	l.places, l.returned = l.machine.Lines(l.block[from:end], l.places[:0]), 0
	if l.machine.Failed() {
		l.places = l.places[:0]
		return from
	}
	for i := range l.places {
		l.places[i] += from
	}
	l.alone -= end - from
	l.ahead = end
	if len(l.places) == 0 {
		return end
	}
	return from
}
