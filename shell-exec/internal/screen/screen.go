// Package screen knows what a terminal shows: it takes the bytes that programs
// write, as an xterm would, and answers with lines of text. [Screen] is a terminal of
// some size while a program runs in it; [Render] makes lines of the output of a
// command that had none. Both read with the same parser.
//
// It refuses to grow with what it is sent: every buffer has a bound, whatever comes,
// and no sequence is more work than the screen is large. It refuses to fail, to wait
// and to care for cuts: writing never blocks, and the same bytes show the same in
// whatever pieces they come. It refuses to speak for the program: what
// [Screen.Replies] answers is made of constants and numbers alone, since a reply is
// typed at whatever reads the terminal next (CVE-2003-0063: a title sent back).
// It touches memory only.
//
// Written here rather than taken from charmbracelet/x/vt, whose Write waits for
// somebody to read its replies, whose cells hold any number of combining marks, and
// whose lines change with the way the writing was cut.
package screen

import (
	"slices"
	"sync"
)

// The bounds of a screen.
const (
	MaxWidth       = 1000
	MaxHeight      = 500
	DefaultHistory = 10_000 // lines
)

const maxReplies = 4096 // bytes that wait for Replies; what comes after is dropped

// Size is how many columns and rows a screen has.
type Size struct{ Width, Height int }

func (s Size) clamp() Size {
	return Size{min(max(s.Width, 1), MaxWidth), min(max(s.Height, 1), MaxHeight)}
}

// Cursor is where the next character goes, from zero.
type Cursor struct {
	Row, Column int
	Hidden      bool
}

// Modes are what a program asked of the terminal that changes how keys are sent.
type Modes struct {
	ApplicationCursor bool
	ApplicationKeypad bool
	BracketedPaste    bool
	Mouse             bool
}

// View is what the screen shows now.
type View struct {
	Lines     []string // one for each row; blanks at the end are cut
	Top       int64    // the number of the first row of the primary screen, as Lines counts
	Cursor    Cursor
	Alternate bool
	Title     string
	Modes     Modes
}

// Screen is one terminal's screen with its history. Use New. Its methods may be
// called from several goroutines.
type Screen struct {
	mu sync.Mutex
	parser
	state

	size      Size
	rows      []row // those shown: of the primary screen or of the alternate one
	hidden    []row // those of the other one; none until the alternate screen is asked for
	alternate bool
	history   history
	tabs      [MaxWidth]bool
	title     string
	replies   []byte
	scratch   []byte
}

// New makes an empty screen that keeps as many lines that scrolled away as history
// says, and at most 16 MiB of them. A size out of bounds is brought within.
func New(size Size, history int) *Screen {
	s := &Screen{size: size.clamp()}
	s.history.limit, s.history.maxBytes = max(history, 0), historyBytes
	s.rows = make([]row, s.size.Height)
	s.reset()
	return s
}

// Write shows what a program wrote. It takes everything and never fails.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parse(s, p)
	return len(p), nil
}

// Replies takes what the terminal has to say to the program: to be written to it.
func (s *Screen) Replies() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.replies
	s.replies = nil
	return p
}

func (s *Screen) reply(text string) {
	if len(s.replies)+len(text) <= maxReplies {
		s.replies = append(s.replies, text...)
	}
}

// View is what the screen shows now.
func (s *Screen) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := View{
		Lines:     make([]string, len(s.rows)),
		Top:       s.history.next(),
		Cursor:    Cursor{Row: s.y, Column: s.x, Hidden: s.cursorHidden},
		Alternate: s.alternate,
		Title:     s.title,
		Modes:     s.keys,
	}
	for i := range s.rows {
		v.Lines[i] = s.line(s.rows[i].shown(s.size.Width)).uncolored()
	}
	return v
}

// ANSI is View's lines with their colours: sequences of SGR and no others, each line
// complete in itself.
func (s *Screen) ANSI() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := make([]string, len(s.rows))
	for i := range s.rows {
		r := s.rows[i].shown(s.size.Width)
		if r.fill != 0 {
			r.cells = slices.Clone(r.cells)
			r.pad(s.size.Width)
		}
		lines[i] = s.line(r).ansi()
	}
	return lines
}

// Resize changes the size and keeps what is shown. Lines are not wrapped again: what a
// narrower screen cuts off comes back with a wider one, unless the line was written
// to. Rows that a lower screen has no place for go to the history, from the top.
func (s *Screen) Resize(size Size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size.clamp()
	s.rows, s.y = s.fit(s.rows, s.y, !s.alternate)
	other := &s.saved[1]
	if s.alternate {
		other = &s.saved[0]
	}
	if s.hidden != nil {
		s.hidden, other.y = s.fit(s.hidden, other.y, s.alternate)
	}
	s.top, s.bottom = 0, s.size.Height-1
	s.x = min(s.x, s.size.Width-1)
	s.wrapNext = false
}

// fit makes rows as many as the screen is high and says where the cursor's row went.
func (s *Screen) fit(rows []row, y int, primary bool) ([]row, int) {
	y = min(y, len(rows)-1)
	for len(rows) > s.size.Height && len(rows)-1 > y && rows[len(rows)-1].blank() {
		rows = rows[:len(rows)-1]
	}
	away := max(len(rows)-s.size.Height, 0)
	for i := range away {
		if primary {
			s.history.push(s.line(rows[i]))
		}
	}
	fitted := make([]row, s.size.Height)
	copy(fitted, rows[away:])
	return fitted, max(y-away, 0)
}
