package text

import (
	"math/rand/v2"
	"testing"
)

// TestWhatIsToldBeforeDecodingIsRight decodes anyway.
func TestWhatIsToldBeforeDecodingIsRight(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a\x00", "\x00a", "é\x00", "\x42\x30", "\x30\x42", "\x3d\xd8\x00\xde", "\xd8\x3d\xde\x00", "\x00\x00", "\x01\x02", "\xff\xff", "x"}
	refused, accepted := 0, 0
	for range 5000 {
		var b []byte
		main := r.IntN(len(pieces))
		for range 1 + r.IntN(80) {
			piece := pieces[main]
			if r.IntN(15) == 0 {
				piece = pieces[r.IntN(len(pieces))]
			}
			b = append(b, piece...)
		}
		little, big := mayBeUTF16(b)
		for name, may := range map[string]bool{"utf-16le": little, "utf-16be": big} {
			s, ok := must(name).strict(head{b, r.IntN(2) == 0})
			switch ok = ok && plausibleUTF16(s); {
			case ok && !may:
				t.Fatalf("%q is %s", b, name)
			case ok:
				accepted++
			case !may:
				refused++
			}
		}
	}
	if refused < 500 || accepted < 500 {
		t.Errorf("%d refused, %d accepted", refused, accepted)
	}
}
