//go:build linux || darwin

package confine_test

import (
	"io"
	"os"
	"testing"

	"github.com/multiollama/mcp-server/shared/confine"
)

// BenchmarkOpenAndRead opens and reads 4 KiB six directories down.
func BenchmarkOpenAndRead(b *testing.B) {
	base := fixture(b, "allow/a/b/c/d/e/f")
	if err := os.WriteFile(base+"/allow/a/b/c/d/e/f", make([]byte, 4096), 0o644); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 8192)
	for _, m := range []struct {
		name string
		o    confine.Options
		by   confine.Mechanism
	}{
		{"whole path", confine.Options{}, confine.ByKernel},
		{"whole path, secrets denied", confine.Options{DenySecrets: true}, confine.ByKernel},
		{"component walk", confine.Options{}, confine.ByWalk},
	} {
		r := roots(b, m.by, m.o, base)
		b.Run(m.name, func(b *testing.B) {
			for b.Loop() {
				p, err := r.Parse("a/b/c/d/e/f")
				if err != nil {
					b.Fatal(err)
				}
				f, _, err := p.Open()
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.ReadFull(f, buf[:4096]); err != nil {
					b.Fatal(n, err)
				}
				f.Close()
			}
		})
	}
	b.Run("os.ReadFile, unchecked", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(base + "/allow/a/b/c/d/e/f")
			if err != nil {
				b.Fatal(err)
			}
			io.ReadFull(f, buf[:4096])
			f.Close()
		}
	})
}
