package text_test

import (
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/shared/text"
)

func BenchmarkDetect(b *testing.B) {
	const headSize = 64 << 10
	japanese := strings.Repeat("データベース接続処理を行う。 value = 1\n", headSize/20)
	german := strings.Repeat("Für die Änderung wird ein Schlüssel benötigt.\n", headSize/20)
	for _, c := range []struct{ encoding, text string }{
		{"utf-8", german}, {"utf-8", japanese}, {"windows-1252", german},
		{"shift_jis", japanese}, {"utf-16le", japanese},
	} {
		e, _ := text.Lookup(c.encoding)
		head, err := e.Encode(c.text, false)
		if err != nil {
			b.Fatal(err)
		}
		head = head[:headSize]
		b.Run(c.encoding, func(b *testing.B) {
			b.SetBytes(headSize)
			for b.Loop() {
				if text.Detect(head, false).Encoding != e {
					b.Fatal("not found")
				}
			}
		})
	}
}
