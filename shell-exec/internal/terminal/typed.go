package terminal

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// typed is what is known of the line that somebody is typing, from what was sent alone: nothing is believed that a
// program shows. It is a value; what refuses an input keeps the one from before.
//
// What a shell makes of a key depends on its settings, its history and the files around it. Text, Backspace, ^U, some
// ^W, ^C and Enter are followed; after any other key the line is unknown, and what completes it counts as unknown too.
type typed struct {
	earlier []string // completed lines that are no whole command yet
	text    []byte   // the line
	doubt   doubt
	quoting bool // the next key may be taken as text, ^C too
	half    bool // ^C was pressed where it takes two: a shell may wait for a key, and attend to the first with the second
}

// doubt is how little is known of the line.
type doubt int

const (
	sure    doubt = iota
	unknown       // until the line is completed
	stuck         // a key has asked for others, which may be the ones that complete the line: until ^C, twice
	wild          // likewise, and any key may run the line: vi's keys, keys that were bound
)

// keyboard is what the terminal, and who reads it, make of keys.
type keyboard struct {
	canonical  bool // the terminal gives out whole lines, and edits them itself
	interrupts bool // ^C surely throws away what was typed
	usual      bool // the terminal's own keys are where they are after its start
	unicode    bool // letters beyond ASCII are text to the shell
	pastes     bool // the shell takes what is between the marks of a paste as text
}

// reading is an input, read as whoever has the keyboard would.
type reading struct {
	before    []string // the earlier lines
	next      typed
	lines     []string // what is completed
	fresh     int      // how many of them were so after the last ^C
	completes bool     // something may be run by this input
	unknown   bool     // and it is not known what; or a key was sent that cannot be followed
	ends      bool     // what is unfinished may be run as it is
	keyboard  keyboard
}

// Bounds of what is remembered. What is longer is unknown.
const (
	maxTyped     = 64 << 10 // bytes of a line, and of the earlier ones together
	maxCanonical = 4000     // bytes of a line that the terminal itself edits: it drops what is beyond 4095
	maxLines     = 100      // that are put together
)

// read reads an input.
func (t typed) read(input []byte, k keyboard) reading {
	r := reading{before: t.earlier, next: t, keyboard: k}
	r.next.text = bytes.Clone(t.text)
	for len(input) > 0 {
		if !k.usual {
			r.doubt(wild)
		}
		if r.next.doubt == wild && input[0] != '\x03' {
			r.completes, r.unknown = true, true
		}
		c := input[0]
		input = input[r.key(input):]
		r.next.quoting = c == 'V'-'@' || c == 'Q'-'@'
		if long := len(r.next.text); long > maxTyped || k.canonical && long > maxCanonical {
			r.doubt(unknown)
			r.next.text = r.next.text[:min(long, maxTyped)]
		}
	}
	return r
}

func (r *reading) doubt(d doubt) {
	r.next.doubt = max(r.next.doubt, d)
	r.next.half = r.next.half && d < stuck
	r.unknown = true
}

// key reads one key and says how many bytes it was.
func (r *reading) key(input []byte) int {
	c := input[0]
	switch {
	case c >= ' ' && c < 0x7f:
		r.next.text = append(r.next.text, c)
	case c >= 0x80:
		l, size := utf8.DecodeRune(input)
		if l == utf8.RuneError || l < 0xa0 || !r.keyboard.unicode { // without Unicode its bytes are keys with Alt
			r.doubt(wild)
		} else {
			r.next.text = append(r.next.text, input[:size]...)
		}
		return size
	case c == 0x1b:
		return r.sequence(input)
	default:
		r.control(c)
	}
	return 1
}

func (r *reading) control(c byte) {
	t := &r.next
	switch c {
	case '\r', '\n':
		r.complete()
	case 0x7f:
		r.erase()
	case 'H' - '@':
		if r.keyboard.canonical {
			r.doubt(unknown)
			return
		}
		r.erase()
	case 'C' - '@':
		r.interrupt()
	case 'U' - '@':
		if bytes.ContainsRune(t.text, '\n') {
			r.doubt(unknown)
		}
		t.text = t.text[:0]
	case 'W' - '@':
		r.eraseWord()
	case 'D' - '@':
		r.end()
	case 'L' - '@':
		if r.keyboard.canonical {
			r.doubt(unknown)
		}
	case 'Z' - '@', '\\' - '@':
		if len(t.text) > 0 {
			r.doubt(unknown)
		}
	case 'O' - '@':
		r.complete()
		r.doubt(unknown) // the next line of the history is there now
	case '\t', ']' - '@':
		r.doubt(stuck)
	case 'V' - '@', 'Q' - '@', 'X' - '@':
		r.completes = true
		r.doubt(wild)
	default:
		r.doubt(unknown)
	}
}

// complete ends the line.
func (r *reading) complete() {
	t := &r.next
	r.completes = true
	r.lines = append(r.lines, string(t.text))
	r.fresh++
	t.text = nil
	if t.doubt > sure {
		r.unknown = true
	}
	if t.doubt == unknown {
		t.doubt = sure
	}
}

// erase is Backspace: one character, which is one byte in ASCII alone.
func (r *reading) erase() {
	t := &r.next
	switch n := len(t.text); {
	case n == 0 && (len(t.earlier) > 0 || len(r.lines) > 0):
		r.doubt(unknown) // some shells go back to the line above
	case n == 0:
	case t.text[n-1] >= 0x80:
		r.doubt(unknown)
	default:
		t.text = t.text[:n-1]
	}
}

// eraseWord is ^W. The terminal and the shells mean different words, except where they are letters, digits and blanks.
func (r *reading) eraseWord() {
	t := &r.next
	rest := bytes.TrimRight(t.text, " ")
	short := bytes.TrimRightFunc(rest, func(c rune) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	})
	if len(short) == len(rest) && len(rest) > 0 || len(short) > 0 && short[len(short)-1] != ' ' {
		r.doubt(unknown)
		return
	}
	t.text = short
}

// interrupt is ^C.
func (r *reading) interrupt() {
	if !r.keyboard.interrupts || !r.keyboard.usual || r.next.quoting {
		r.doubt(stuck)
		return
	}
	if r.next.doubt >= stuck && !r.next.half {
		r.next = typed{doubt: r.next.doubt, half: true}
	} else {
		r.next = typed{}
	}
	r.fresh = 0
}

// end is ^D: the end of what is read, where the line is empty. What is unfinished may be run as it is then: a
// here-document ends so, and so does a line that was handed out without its end. A terminal that gives out whole lines
// hands out what is on it.
func (r *reading) end() {
	t := &r.next
	unfinished := len(t.earlier) > 0 || len(r.lines) > 0
	switch {
	case r.keyboard.canonical && (len(t.text) > 0 || t.doubt > sure):
		r.complete()
	case len(t.text) > 0 || t.doubt > sure && !unfinished:
		r.doubt(unknown)
		return
	case unfinished:
		r.completes, r.unknown = true, r.unknown || t.doubt > sure
		r.lines, r.fresh = append(r.lines, ""), r.fresh+1
	default:
		return
	}
	r.ends = true
	t.doubt = max(t.doubt, unknown) // what comes next continues with it, or answers a question of the shell
}

// movements are sequences after which the line is unknown, and nothing worse: they never run it, and want no other key.
var movements = strings.Fields("[A [B [C [D [H [F [1~ [3~ [4~ [5~ [6~ [Z OA OB OC OD OH OF [1;2C [1;2D [1;5C [1;5D [1;3C [1;3D")

const pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"

// sequence is Escape, alone or with what belongs to it.
func (r *reading) sequence(input []byte) int {
	if r.keyboard.pastes && bytes.HasPrefix(input, []byte(pasteBegins)) {
		// A text between marks is put into the line as it is, ends of lines included.
		text, _, found := bytes.Cut(input[len(pasteBegins):], []byte(pasteEnds))
		ascii := !bytes.ContainsFunc(text, func(l rune) bool { return l >= 0x80 })
		if found && pasteable(text) && (ascii || r.keyboard.unicode) {
			r.next.text = append(r.next.text, bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))...)
			return len(pasteBegins) + len(text) + len(pasteEnds)
		}
	}
	for _, m := range movements {
		if bytes.HasPrefix(input[1:], []byte(m)) {
			r.doubt(unknown)
			return 1 + len(m)
		}
	}
	r.completes = true
	r.doubt(wild)
	return 1
}

// pasteable says whether a text can stand between marks: nothing in it is a key, or ends the paste.
func pasteable(text []byte) bool {
	return utf8.Valid(text) && !bytes.ContainsFunc(text, func(l rune) bool {
		return l < ' ' && l != '\r' && l != '\n' && l != '\t' || l >= 0x7f && l < 0xa0 || l == utf8.RuneError
	})
}

// all are the lines that a shell would put together, oldest first, and whether that is what it would read.
func (r reading) all() (lines []string, known bool) {
	lines = append(slices.Clone(r.before), r.lines...)
	size := 0
	for _, l := range lines {
		size += len(l)
	}
	return lines, !r.unknown && len(lines) <= maxLines && size <= maxTyped
}

// after is what is known when the input was sent; complete says that its lines make whole commands.
func (r reading) after(complete bool) typed {
	t := r.next
	_, known := r.all()
	switch {
	case len(r.lines) == 0:
	case complete || !known:
		t.earlier = nil
	default:
		t.earlier = append(slices.Clone(t.earlier), r.lines[len(r.lines)-r.fresh:]...)
	}
	return t
}

// blank says that nothing is on the line, or before it.
func (t typed) blank() bool { return len(t.earlier) == 0 && len(t.text) == 0 && t.doubt == sure }

func (t typed) doubted(d doubt) typed {
	t.doubt, t.half = max(t.doubt, d), t.half && d < stuck
	return t
}
