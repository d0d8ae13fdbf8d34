package index_test

import (
	"testing"

	"github.com/multiollama/mcp-server/file-read/internal/index"
)

func BenchmarkSketch(b *testing.B) {
	content := []byte(words(1, 1200))
	s := &index.Sketch{}
	x := index.New(64 << 20)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		s.Begin(int64(len(content)))
		s.Write(content)
		x.AddFile(stamp(1), now, index.Text, s)
	}
}

func BenchmarkVerdict(b *testing.B) {
	const files = 130_000
	x := index.New(64 << 20)
	s := sketchOf(words(1, 100))
	for i := range files {
		x.AddFile(stamp(i), now, index.Text, s)
	}
	v := x.View(query("not in it"))
	defer v.End()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		v.File(stamp(i % files))
	}
}
