package match

import "sync"

// Small makes a pattern handle texts in parts of some n bytes, so that short
// texts have many borders.
func (p *Pattern) Small(n int) {
	n = max(n, 4)
	p.sizes = sizes{head: n, block: 2 * n, run: 3 * n, chunk: 5 * n, trial: 7 * n, alone: 11 * n}
}

// Engine names what a pattern is looked for by.
func (p *Pattern) Engine() string {
	switch s := p.seek; {
	case s.trio != nil && p.exact:
		return "trio"
	case s.trio != nil:
		return "trio, machine"
	case s.single != nil:
		return "byte"
	case s.many != nil && p.exact:
		return "teddy"
	case s.many != nil:
		return "teddy, machine"
	case s.window != nil:
		return "window, machine"
	case p.prog != nil:
		return "machine"
	}
	return "regexp"
}

// Alone has the pattern looked for without a seeker; Slow without a machine too.
func (p *Pattern) Alone() { p.seek, p.exact, p.idle = seeker{}, false, sync.Pool{} }
func (p *Pattern) Slow()  { p.Alone(); p.prog = nil }
