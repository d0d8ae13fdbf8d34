package screen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The screens here have less room than others, so that they are soon full; what they
// may hold is the room for the history, and two grids full of cells that have all the
// marks they may.
var (
	full     = Size{200, 50}
	room     = 2 << 20
	heapMost = int64(2*200*50*64 + 2*room)
)

const mebibytes = 2 // that each of the hostile writes

// hostile are bytes that make a screen grow that does not bound what it keeps.
func hostile() map[string]func() []byte {
	random := rand.New(rand.NewPCG(1, 2))
	repeat := func(text string) func() []byte {
		return func() []byte { return bytes.Repeat([]byte(text), 1<<20/len(text)) }
	}
	return map[string]func() []byte{
		"random bytes": func() []byte {
			p := make([]byte, 1<<20)
			for i := range p {
				p[i] = byte(random.Uint32())
			}
			return p
		},
		"marks on one character": repeat("\u0301"),
		"marks on each":          repeat("x" + strings.Repeat("\u0301", 16)),
		"an OSC without end":     repeat("\x1b]0;t"),
		"a title":                repeat("t"),
		"a DCS without end":      repeat("\x1bPq#0"),
		"questions":              repeat("\x1b[c\x1b[6n\x1b[?25$p\x1bP$qm\x1b\\"),
		"parameters":             repeat("\x1b[" + strings.Repeat("4294967295;", 100) + "m"),
		"short lines":            repeat("\r\n"),
		"a colour for each cell": func() []byte {
			var b bytes.Buffer
			for b.Len() < 1<<20 {
				n := random.Uint32()
				fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dmx", n&0xff, n>>8&0xff, n>>16&0xff)
			}
			return b.Bytes()
		},
		"both screens": repeat("\x1b[?1049h" + strings.Repeat("x"+strings.Repeat("\u0301", 16), 10_000) + "\x1b[?1049l\x1b[H"),
	}
}

func TestNoBytesMakeTheScreenGrow(t *testing.T) {
	for name, bytes := range hostile() {
		s := New(full, DefaultHistory)
		s.history.maxBytes = room
		if name == "a title" {
			_, _ = s.Write([]byte("\x1b]0;"))
		}
		before := heap()
		for range mebibytes {
			_, _ = s.Write(bytes())
		}
		if grown := heap() - before; grown > heapMost {
			t.Errorf("%s: %d KiB of %d", name, grown>>10, heapMost>>10)
		} else {
			t.Logf("%s: %d KiB", name, grown>>10)
		}
		if n := len(s.Replies()); n > maxReplies {
			t.Errorf("%s: %d bytes of replies", name, n)
		}
		runtime.KeepAlive(s)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTheHistoryIsBoundedInBytesToo(t *testing.T) {
	t.Parallel()
	s := New(Size{MaxWidth, 2}, 1_000_000)
	s.history.maxBytes = room
	wide := strings.Repeat("日", MaxWidth/2) + "\r\n"
	for range 3000 {
		_, _ = s.Write([]byte(wide))
	}
	p := s.Lines(0, 1, false)
	if s.history.bytes > room || p.First == 0 || p.Lost != p.First || p.Total != 3000 || p.Lines[0] != strings.TrimSpace(wide) {
		t.Errorf("%d bytes of history, %d of %d lines lost", s.history.bytes, p.Lost, p.Total)
	}
}

func TestSeveralMayUseAScreen(t *testing.T) {
	t.Parallel()
	s := New(Size{40, 10}, 100)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				_, _ = fmt.Fprintf(s, "%d of %d\x1b[6n\r\n", j, i)
				s.View()
				s.ANSI()
				s.Lines(-5, 5, true)
				s.Replies()
				s.Resize(Size{30 + j%20, 5 + i})
			}
		})
	}
	all.Wait()
	if p := s.Lines(0, 1000, false); p.Total < 800 {
		t.Errorf("%d lines of 800", p.Total)
	}
}
