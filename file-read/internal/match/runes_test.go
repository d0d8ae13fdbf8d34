package match

import (
	"context"
	"io"
	"testing"
)

func TestRunesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &runes{ctx: ctx, text: make([]byte, 10_000)}
	for range 1000 {
		if _, _, err := r.ReadRune(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range 300 {
		if _, _, err := r.ReadRune(); err == io.EOF {
			return
		}
	}
	t.Error("the context ended and the runes went on")
}
