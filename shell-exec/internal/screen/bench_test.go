package screen

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	var numbers, long, coloured, japanese strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&numbers, "%d\r\n", 1_000_000+i)
		fmt.Fprintf(&coloured, "\x1b[%dm%08d\x1b[0m \x1b[1;38;5;%dmname of it\x1b[0m\r\n", 31+i%7, i, i%256)
		long.WriteString(strings.Repeat("0123456789", 7) + "\r\n")
		japanese.WriteString("日本語の文字は二桁です。\r\n")
	}
	for _, c := range []struct{ name, text string }{
		{"numbers", numbers.String()}, {"plain lines", long.String()}, {"coloured", coloured.String()}, {"Japanese", japanese.String()},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := New(Size{120, 30}, DefaultHistory)
			p := []byte(c.text)
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				_, _ = s.Write(p)
			}
		})
	}
}
