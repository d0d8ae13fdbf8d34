package dfa

import (
	"regexp/syntax"
	"slices"
)

// A Machine runs a program. It remembers the states that it has been in, and is
// for one goroutine at a time.
type Machine struct {
	p     *Program
	shift int // a state has 1<<shift entries in table

	// table has for each state and class of bytes what comes next: a state, as
	// the index of its entries, and flags. An entry that is not known yet is the
	// state that it belongs to.
	table  []uint32
	states []state
	nodes  []int32 // the instructions that states are at
	index  map[string]uint32
	begin  uint32 // the state where a line begins

	max    int  // entries and nodes that are kept
	credit int  // steps of making states that may be taken before giving up
	failed bool // gave up
	forgot int  // how often all states were forgotten

	// Scratch.
	stack, from, to []int32
	seen            []int // by instruction: the last walk that came there
	walk            int
	key             []byte
	found           [streams][]int
}

const (
	matched = 1 << 31 // a match ends here
	unknown = 1 << 30
	flags   = matched | unknown
)

// What a machine may hold, and what it may spend on making states: at first, and
// for every byte. Without a bound a program whose states never come again would
// be slower than one that is run without states.
const (
	maxTable     = 1 << 18 // entries, and as many nodes
	firstCredit  = 1 << 22
	creditByByte = 8
)

// state is where in the program a line may be at some byte.
type state struct {
	from, to int32 // in nodes
	begins   bool  // the line begins here
	word     bool  // the byte before belongs to a word
}

// Machine is a new machine for the program.
func (p *Program) Machine() *Machine {
	m := &Machine{p: p, max: maxTable, credit: firstCredit, seen: make([]int, len(p.inst)), index: map[string]uint32{}}
	for 1<<m.shift < len(p.sample) {
		m.shift++
	}
	m.forget()
	return m
}

// Failed says that the machine has given up. What it told last means nothing,
// and it will tell nothing more.
func (m *Machine) Failed() bool { return m.failed }

// forget begins again with the state where a line begins.
func (m *Machine) forget() {
	m.table, m.states, m.nodes = m.table[:0], m.states[:0], m.nodes[:0]
	clear(m.index)
	m.forgot++
	m.from = append(m.from[:0], m.p.start)
	m.begin = m.stateOf(m.reach(m.from, syntax.EmptyBeginLine|syntax.EmptyBeginText), true, false)
}

// ahead is what only the next byte tells.
const ahead = syntax.EmptyEndLine | syntax.EmptyEndText | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary

// reach is where the program comes to without another byte: instructions that
// want one, that match, or that want to know what only the next byte tells. The
// result is good until the next call.
func (m *Machine) reach(from []int32, holds syntax.EmptyOp) []int32 {
	m.walk++
	stack, to := append(m.stack[:0], from...), m.to[:0]
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if m.seen[i] == m.walk {
			continue
		}
		m.seen[i] = m.walk
		m.credit--
		switch in := &m.p.inst[i]; {
		case in.op == opByte || in.op == opMatch:
			to = append(to, i)
		case in.op == opFork:
			stack = append(stack, in.other, in.out)
		case in.op != opEmpty:
		case in.empty&^holds == 0:
			stack = append(stack, in.out)
		case in.empty&^holds&^ahead == 0:
			to = append(to, i)
		}
	}
	m.stack, m.to = stack, to
	return to
}

// stateOf is the state of being at these instructions.
func (m *Machine) stateOf(at []int32, begins, word bool) uint32 {
	slices.Sort(at)
	if !m.wantsByte(at) {
		begins, word = false, false
	}
	m.key = append(m.key[:0], bit(begins)|bit(word)<<1)
	for _, i := range at {
		m.key = append(m.key, byte(i), byte(i>>8))
	}
	if s, ok := m.index[string(m.key)]; ok {
		return s
	}
	s := uint32(len(m.table))
	from := int32(len(m.nodes))
	m.nodes = append(m.nodes, at...)
	m.states = append(m.states, state{from, int32(len(m.nodes)), begins, word})
	for range 1 << m.shift {
		m.table = append(m.table, s|unknown)
	}
	m.index[string(m.key)] = s
	return s
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// wantsByte says that one of the instructions waits for what the next byte
// tells.
func (m *Machine) wantsByte(at []int32) bool {
	return slices.ContainsFunc(at, func(i int32) bool { return m.p.inst[i].op == opEmpty })
}

func (m *Machine) matches(at []int32) bool {
	return slices.ContainsFunc(at, func(i int32) bool { return m.p.inst[i].op == opMatch })
}

// step finds out what comes after state s with a byte of a class, and puts it
// into the table. It is flagged matched if the line matches by then.
func (m *Machine) step(s uint32, class uint8) uint32 {
	if m.credit < 0 {
		m.failed = true
		return m.begin
	}
	st := m.states[s>>m.shift]
	at := m.nodes[st.from:st.to]
	b := m.p.sample[class]
	m.credit -= len(at)
	if m.wantsByte(at) {
		holds := syntax.EmptyNoWordBoundary // what holds before the byte
		if st.word != isWord(b) {
			holds = syntax.EmptyWordBoundary
		}
		if b == '\n' {
			holds |= syntax.EmptyEndLine | syntax.EmptyEndText
		}
		if st.begins {
			holds |= syntax.EmptyBeginLine | syntax.EmptyBeginText
		}
		at = m.reach(at, holds)
	}
	next := uint32(0)
	if m.matches(at) {
		next = matched
	}
	if b == '\n' {
		next |= m.begin
		m.table[s+uint32(class)] = next
		return next
	}

	// The program continues behind the byte, or begins again there.
	m.from = m.from[:0]
	for _, i := range at {
		if in := &m.p.inst[i]; in.op == opByte && in.lo <= b && b <= in.hi {
			m.from = append(m.from, in.out)
		}
	}
	m.from = append(m.from, m.p.start)
	to := m.reach(m.from, 0)
	if m.matches(to) {
		next = matched
	}
	if len(m.table)+1<<m.shift > m.max || len(m.nodes)+len(to) > m.max {
		kept := slices.Clone(to)
		m.forget()
		return next | m.stateOf(kept, false, isWord(b))
	}
	next |= m.stateOf(to, false, isWord(b))
	m.table[s+uint32(class)] = next
	return next
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
