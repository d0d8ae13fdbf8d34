package match

import (
	"context"

	"github.com/multiollama/mcp-server/file-read/internal/dfa"
	"github.com/multiollama/mcp-server/file-read/internal/scan"
)

// lookout goes through the lines of blocks that match, in order. It goes one of
// three ways, and changes over from one to another where that is faster:
//
//   - from one place that the seeker finds to the next: only lines with one are
//     looked at, by the machine of the pattern's program;
//   - by the machine alone, over all lines of a part of the block;
//   - by the regexp package, where there is no machine or it has given up.
type lookout struct {
	p       *Pattern
	machine *dfa.Machine // nil before it is needed

	block  []byte
	places []int // in lines before ahead that the machine found
	told   int   // of which so many have been told
	ahead  int   // what the machine has been run over

	// What the seeker's places cost, and what they spared, both in bytes that the
	// machine would have looked at in that time; and while they cost too much,
	// bytes that are left to the machine alone.
	spent, spared, alone int
}

// Costs in bytes that the machine looks at in the time.
const (
	missCost = 14  // of a place where a literal only seemed to be
	lineCost = 100 // of a line that is looked at in vain
	byteCost = 3   // and of each of its bytes

	forgetting = 1 << 20 // after so many bytes spared what was before counts half
)

// begin goes on with another block.
func (l *lookout) begin(block []byte) {
	l.block, l.ahead, l.told, l.places = block, 0, 0, l.places[:0]
}

// next is the first matching line at or after from, which is where a line
// begins. What it answers when ctx has ended means nothing.
func (l *lookout) next(ctx context.Context, from int) (sighting, bool) {
	for from < len(l.block) && ctx.Err() == nil {
		var m sighting
		var ok bool
		switch {
		case l.told < len(l.places) || l.machineAlone():
			m, from, ok = l.byMachine(ctx, from)
		case l.p.seek.none():
			m, from, ok = l.byRegexp(ctx, from)
		default:
			m, from, ok = l.bySeeker(ctx, from)
		}
		if ok {
			return m, true
		}
	}
	return sighting{}, false
}

// machineAlone says that the machine is run without the seeker.
func (l *lookout) machineAlone() bool {
	return (l.alone > 0 || l.p.seek.none()) && l.works()
}

// works says that there is a machine that has not given up.
func (l *lookout) works() bool {
	if l.machine == nil && l.p.prog != nil {
		l.machine = l.p.prog.Machine()
	}
	return l.machine != nil && !l.machine.Failed()
}

// bySeeker looks at lines in which the seeker finds something. Without a hit it
// says from where on there may be one.
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
	if l.matches(ctx, line) {
		l.account(misses*missCost, end+1-from)
		return sighting{at: at, end: end}, from, true
	}
	l.account(misses*missCost+lineCost+byteCost*len(line), end+1-from)
	return sighting{}, end + 1, false
}

// account takes note of what the seeker cost over so many bytes, and leaves the
// next ones to the machine if it is too much.
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

// matches says whether a line matches.
func (l *lookout) matches(ctx context.Context, line []byte) bool {
	if l.works() {
		told := l.machine.Line(line)
		if !l.machine.Failed() && !(told && l.unsure(line)) {
			return told
		}
	}
	return l.p.find(ctx, l.p.whole, line) != nil
}

// mayMatch says whether there can be a match in a part of a line: there is none
// if there would be none were it a line.
func (l *lookout) mayMatch(part []byte) bool {
	return !l.works() || l.machine.Line(part) || l.machine.Failed()
}

// unsure says that the machine may have told too much of a line.
func (l *lookout) unsure(line []byte) bool {
	return l.p.prog.Approximate() && scan.ASCII(line) < len(line)
}

// byMachine gives the next place that the machine has found, or runs it over the
// next part of the block.
func (l *lookout) byMachine(ctx context.Context, from int) (sighting, int, bool) {
	if l.told == len(l.places) {
		return sighting{}, l.run(from), false
	}
	at := l.places[l.told]
	l.told++
	end := endOfLine(l.block, at)
	if l.p.prog.Approximate() {
		line := l.block[startOfLine(l.block, from, at):end]
		if l.unsure(line) && l.p.find(ctx, l.p.whole, line) == nil {
			return sighting{}, end + 1, false
		}
	}
	return sighting{at: at, end: end}, from, true
}

// run has the machine look for places, and says where the first may be.
func (l *lookout) run(from int) int {
	from = max(from, l.ahead)
	end := min(len(l.block), stepEnd(l.block, from, l.p.sizes.run)+1)
	l.places, l.told = l.machine.Lines(l.block[from:end], l.places[:0]), 0
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

// byRegexp runs the expression over as many lines at once as one step allows.
func (l *lookout) byRegexp(ctx context.Context, from int) (sighting, int, bool) {
	end := stepEnd(l.block, from, l.p.step)
	loc := l.p.find(ctx, l.p.whole, l.block[from:end])
	if loc == nil {
		return sighting{}, end + 1, false
	}
	at := from + loc[0]
	return sighting{at: at, end: endOfLine(l.block, at)}, from, true
}
