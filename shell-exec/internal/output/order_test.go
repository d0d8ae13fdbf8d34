package output_test

import (
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/shell-exec/internal/output"
)

func TestBeyondSoManyTurnsNothingIsLost(t *testing.T) {
	w := newFixture(t)
	s := w.open(output.Limits{})
	const turns = 1000
	s.Bound(turns)
	r := w.begin(s, "x")
	out, err := r.Writer(output.Stdout), r.Writer(output.Stderr)
	for range turns {
		out.Write([]byte("o"))
		err.Write([]byte("e"))
	}
	running := w.all(s, r.ID(), output.MaxPage, output.Base64)
	w.end(r)
	got := w.all(s, r.ID(), output.MaxPage, output.Base64)
	pairs := turns/2 - 1
	if want := strings.Repeat("oe", pairs); !strings.HasPrefix(running, want) || !strings.HasPrefix(got, running) {
		t.Error("the beginning is not in its order")
	}
	if n := strings.Count(got, "o"); n != turns || len(got) != 2*turns {
		t.Errorf("%d bytes, %d of them from stdout", len(got), n)
	}
}

// Every byte of ops is a write: its lowest bit is the stream, the rest the length.
func FuzzOrder(f *testing.F) {
	f.Add([]byte{2, 3, 4, 5, 1, 0, 200, 201}, "日本語aé", uint8(3))
	f.Add([]byte{7, 7, 6, 6, 7}, "\xe3\xe3\x81", uint8(1))
	f.Fuzz(func(t *testing.T, ops []byte, text string, size uint8) {
		if text == "" || len(ops) > 100 || len(text) > 100 {
			return
		}
		w := newFixture(t)
		s := w.open(output.Limits{})
		r := w.begin(s, "x")
		var said [2]string
		var whole, seen string // whole is right where no write cuts a character
		for _, op := range ops {
			part := strings.Repeat(text, int(op>>1)/8) + strings.ToValidUTF8(text[:min(int(op>>1)%8, len(text))], "")
			to := []output.Type{output.Stdout, output.Stderr}[op&1]
			w.write(r, to, part)
			said[op&1] += part
			whole += part
			now := w.all(s, r.ID(), int(size), output.Base64)
			if !strings.HasPrefix(now, seen) {
				t.Fatalf("%q was read, and then %q", seen, now)
			}
			seen = now
		}
		w.end(r)
		got := w.all(s, r.ID(), int(size), output.Base64)
		if !strings.HasPrefix(got, seen) || w.all(s, r.ID(), int(size), output.UTF8) != got {
			t.Fatalf("%q was read, and then %q", seen, got)
		}
		if strings.ToValidUTF8(text, "") == text && got != whole {
			t.Fatalf("%q was written and %q read", whole, got)
		}
		if len(got) != len(whole) {
			t.Fatalf("%d bytes of %d", len(got), len(whole))
		}
		for i, to := range []output.Type{output.Stdout, output.Stderr} {
			if said[i] != "" && w.read(s, r.OutputID(to)) != said[i] {
				t.Fatalf("%s is not what was written", to)
			}
		}
	})
}

func BenchmarkRun(b *testing.B) {
	s, err := output.Open(b.TempDir(), "p", output.Limits{}, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		r, err := s.Begin(b.Context(), output.About{ExecutionID: "x", Name: "echo"})
		if err != nil {
			b.Fatal(err)
		}
		r.Writer(output.Stdout).Write([]byte("hi\n"))
		if err := r.End(); err != nil {
			b.Fatal(err)
		}
	}
}
