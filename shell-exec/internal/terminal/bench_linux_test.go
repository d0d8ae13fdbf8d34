package terminal

import (
	"context"
	"testing"
)

func forBench(b *testing.B) (*fixture, string) {
	b.Helper()
	w := newFixture(b)
	return w, w.shell("bash").ID
}

// BenchmarkSend is one line typed at bash, with its judge.
func BenchmarkSend(b *testing.B) {
	w, id := forBench(b)
	for b.Loop() {
		if _, err := w.Send(context.Background(), Input{ID: id, Text: ":", Execute: true, Judge: allow}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkForeground is to see who has the keyboard.
func BenchmarkForeground(b *testing.B) {
	w, id := forBench(b)
	s, err := w.find(id)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.foreground()
	}
}
