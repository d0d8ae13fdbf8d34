package quoted_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/multiollama/mcp-server/shared/quoted"
)

func TestNumbersAreThoseOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := 0
	for range 200_000 {
		b := make([]byte, r.IntN(8))
		for i := range b {
			b[i] = "-0123.eE+"[r.IntN(9)]
		}
		size, ok := quoted.Number(b)
		if whole := ok && size == len(b); whole != json.Valid(b) {
			t.Fatalf("%q: %d bytes, %v", b, size, ok)
		}
		if more, _ := quoted.Number(append(b, ' ')); more != size {
			t.Fatalf("%q: %d bytes with a space behind it, %d without", b, more, size)
		}
		if ok && size == len(b) {
			numbers++
		}
	}
	if numbers < 1000 {
		t.Errorf("only %d numbers", numbers)
	}
}
