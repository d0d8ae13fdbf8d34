package screen

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzScreen writes any bytes, cut anywhere, to a screen that is resized in between.
func FuzzScreen(f *testing.F) {
	for _, text := range []string{
		"hello\r\nworld\r\n", "\x1b[31;1mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[48:5:200my", "日本語 e\u0301 👩‍👩‍👧‍👦",
		"\x1b[2;3r\n\n\n\x1b[M\x1b[2L\x1b[r\x1b[3J", "\x1b[?1049h\x1b[2Jx\x1b[?1049l", "\x1b]0;title\a\x1bP$qm\x1b\\\x1b[6n\x1b[c",
		"\x1b[4h\x1b[?7labc\x1b[5@\x1b[9P\x1b[9X\x1b[9b", "\x1b7\x1b[?6h\x1b8\x1b[99;99H\x1bM\x1bc", "\xff\xc3\x1b[0m\xe3\x81",
	} {
		f.Add([]byte(text), uint64(1), uint8(7), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, width, height uint8) {
		text = text[:min(len(text), 2048)] // each piece is looked at as a whole
		size := Size{int(width), int(height)}
		whole, cut := New(size, 5), New(size, 5)
		w := watch{t: t, screen: cut}
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := text; len(rest) > 0; {
			part := rest[:min(len(rest), 1+random.IntN(64))]
			rest = rest[len(part):]
			_, _ = whole.Write(part)
			for len(part) > 0 {
				n := 1 + random.IntN(len(part))
				_, _ = cut.Write(part[:n])
				part = part[n:]
				w.look()
			}
			if random.IntN(8) == 0 {
				size = Size{1 + random.IntN(20), 1 + random.IntN(10)}
				whole.Resize(size)
				cut.Resize(size)
				w.look()
			}
		}
		if a, b := observed(whole), observed(cut); !reflect.DeepEqual(a, b) {
			t.Errorf("written as one: %+v\nwritten in cuts: %+v", a, b)
		}
	})
}

func observed(s *Screen) []any {
	return []any{s.View(), s.ANSI(), s.Lines(0, 1000, true), string(s.Replies())}
}

// watch holds a screen to what it promises of its lines.
type watch struct {
	t      *testing.T
	screen *Screen
	away   map[int64]string // lines that scrolled away
	next   int64
	first  int64
}

func (w *watch) look() {
	p := w.screen.Lines(0, 1000, true)
	next := w.screen.history.next()
	if p.First < w.first || next < w.next || p.Lost != p.First || p.Start != p.First || next-p.First > 5 {
		w.t.Fatalf("after line %d of %d came %+v, %d away", w.first, w.next, p, next)
	}
	now := make(map[int64]string)
	for n := p.First; n < next; n++ {
		now[n] = p.Lines[n-p.First]
		if old, known := w.away[n]; known && old != now[n] {
			w.t.Fatalf("line %d was %q and is %q", n, old, now[n])
		}
	}
	w.away, w.first, w.next = now, p.First, next
	w.shape()
}

// shape is what View and ANSI promise.
func (w *watch) shape() {
	v, size := w.screen.View(), w.screen.size
	if len(v.Lines) != size.Height || v.Cursor.Row < 0 || v.Cursor.Row >= size.Height || v.Cursor.Column < 0 || v.Cursor.Column >= size.Width {
		w.t.Fatalf("%d lines with the cursor at %+v on a screen of %+v", len(v.Lines), v.Cursor, size)
	}
	for i, l := range w.screen.ANSI() {
		if bare := strings.TrimRight(uncoloured(l), " "); bare != v.Lines[i] || !utf8.ValidString(l) {
			w.t.Fatalf("row %d is %q, with colours %q", i, v.Lines[i], l)
		}
		if strings.ContainsFunc(v.Lines[i], func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			w.t.Fatalf("row %d has control characters: %q", i, v.Lines[i])
		}
	}
	for _, r := range w.screen.rows {
		for i, c := range r.shown(size.Width).cells {
			if c.char == second && (i == 0 || Columns(r.cells[i-1].char) != 2) || len(c.marks) > maxMarks {
				w.t.Fatalf("column %d of %+v cannot be", i, r.cells)
			}
		}
	}
}

// uncoloured takes SGR away, and nothing else.
func uncoloured(line string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		end := strings.TrimLeft(after, "0123456789;")
		if !found || !strings.HasPrefix(end, "m") {
			return b.String()
		}
		line = end[1:]
	}
}
