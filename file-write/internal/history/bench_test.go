package history_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
)

// BenchmarkKeep is what keeping 4 KB costs next to what replacing a file of that
// size costs at least, on the same disk in the same run.
func BenchmarkKeep(b *testing.B) {
	b.Run("replace a file", func(b *testing.B) {
		dir := b.TempDir()
		for n := 0; b.Loop(); n++ {
			if err := replaceDurably(dir, numbered(n)); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, c := range []struct {
		name  string
		bytes func(n int) []byte
	}{
		{"keep a new content", numbered},
		{"keep the same content again", func(int) []byte { return numbered(0) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := history.Open(b.TempDir(), history.Limits{}, time.Now)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for n := 0; b.Loop(); n++ {
				if _, err := s.Keep(context.Background(), edit("/w/a.txt"), strings.NewReader(string(c.bytes(n)))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func numbered(n int) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 4088), uint64(n)) }

// replaceDurably is the least that a crash-safe change of a file consists of.
func replaceDurably(dir string, content []byte) error {
	f, err := os.CreateTemp(dir, "draft")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, "file")); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
