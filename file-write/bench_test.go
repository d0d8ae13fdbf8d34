//go:build linux || darwin

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

// benchWriter is a writer on an empty directory, with a history or without.
func benchWriter(b *testing.B, keeps bool) (*writer, string) {
	b.Helper()
	dir := mcptest.Tree(b)
	roots, err := confine.Open([]string{dir}, confine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { roots.Close() })
	w := &writer{scope: confine.NewScope(roots, nil), files: replace.New(guards{}.rules())}
	if !keeps {
		return w, dir
	}
	if w.past, err = history.Open(filepath.Join(b.TempDir(), "history"), history.Limits{}, time.Now); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.past.Close() })
	return w, dir
}

// durably is what a careful program does by hand.
func durably(b *testing.B, path string, content []byte) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".bench-")
	if err != nil {
		b.Fatal(err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	f.Close()
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		b.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkWrite4KB(b *testing.B) {
	page := strings.Repeat("a line of a small file, as long as this one\n", 93)
	b.Run("by hand", func(b *testing.B) {
		dir := mcptest.Tree(b)
		for n := 0; b.Loop(); n++ {
			durably(b, fmt.Sprintf("%s/%d", dir, n), []byte(page))
		}
	})
	b.Run("new", func(b *testing.B) {
		w, _ := benchWriter(b, true)
		for n := 0; b.Loop(); n++ {
			if _, err := w.write(b.Context(), writeIn{Path: fmt.Sprint(n), Content: page}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, keeps := range []bool{false, true} {
		b.Run(fmt.Sprintf("over another, kept %t", keeps), func(b *testing.B) {
			w, _ := benchWriter(b, keeps)
			for n := 0; b.Loop(); n++ {
				if _, err := w.write(b.Context(), writeIn{Path: "a", Content: fmt.Sprint(n, page), Overwrite: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEditALineOf10MB(b *testing.B) {
	big := []byte("line 0\n" + strings.Repeat("a line of a large file, which is about as long as this\n", 180_000))
	b.Run("by hand", func(b *testing.B) {
		path := mcptest.Tree(b, "a="+string(big)) + "/a"
		for n := 0; b.Loop(); n++ {
			old, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			durably(b, path, bytes.Replace(old, fmt.Appendf(nil, "line %d\n", n), fmt.Appendf(nil, "line %d\n", n+1), 1))
		}
	})
	for _, keeps := range []bool{false, true} {
		b.Run(fmt.Sprintf("edit_file, kept %t", keeps), func(b *testing.B) {
			w, dir := benchWriter(b, keeps)
			if err := os.WriteFile(dir+"/a", big, 0o644); err != nil {
				b.Fatal(err)
			}
			for n := 0; b.Loop(); n++ {
				old, new := fmt.Sprintf("line %d\n", n), fmt.Sprintf("line %d\n", n+1)
				if _, err := w.edit(b.Context(), editIn{Path: "a", Old: &old, New: &new}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
