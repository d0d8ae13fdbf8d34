//go:build linux || darwin

package history_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/multiollama/mcp-server/file-write/internal/history"
	"github.com/multiollama/mcp-server/shared/confine"
	"github.com/multiollama/mcp-server/shared/fault"
	"github.com/multiollama/mcp-server/shared/mcptest"
	"github.com/multiollama/mcp-server/shared/replace"
)

// treeWorld is a literal tree of which the directory allow is allowed.
type treeWorld struct {
	testing.TB
	base  string
	roots *confine.Roots
}

func newTree(t testing.TB, o confine.Options, entries ...string) *treeWorld {
	t.Helper()
	base := mcptest.Tree(t, append([]string{"allow/", "out/secret=SECRET"}, entries...)...)
	roots, err := confine.Open([]string{filepath.Join(base, "allow")}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { roots.Close() })
	return &treeWorld{t, base, roots}
}

func (w *treeWorld) at(name string) string { return filepath.Join(w.base, "allow", name) }

func (w *treeWorld) parse(name string) confine.Path {
	w.Helper()
	p, err := w.roots.Parse(name)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *treeWorld) dir(name string) *confine.Dir {
	w.Helper()
	d, err := w.parse(name).OpenDir()
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { d.Close() })
	return d
}

func (w *treeWorld) chmod(name string, mode os.FileMode) {
	w.Helper()
	if err := os.Chmod(w.at(name), mode); err != nil {
		w.Fatal(err)
	}
}

func (w *treeWorld) pack(name string) ([]byte, history.Count) {
	w.Helper()
	var b bytes.Buffer
	count, err := history.Pack(w.Context(), &b, w.dir(name))
	if err != nil {
		w.Fatal(err)
	}
	return b.Bytes(), count
}

// describe is what lies under a directory, one line each, in the order of names.
func (w *treeWorld) describe(dir string, modes bool) string {
	w.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%q", p[len(dir)+1:])
		switch {
		case d.IsDir():
			all.WriteString(" is a directory")
		case d.Type() == os.ModeSymlink:
			text, err := os.Readlink(p)
			fmt.Fprintf(&all, " leads to %q\n", text)
			return err
		default:
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " holds %q", content)
		}
		if modes {
			fmt.Fprintf(&all, " %o", info.Mode().Perm())
		}
		all.WriteString("\n")
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all.String()
}

// maker is a real Writer with the parts that tests want to fail.
type maker struct {
	*replace.Writer
	badLink string
}

func newMaker() *maker { return &maker{Writer: &replace.Writer{}} }

func (m *maker) Link(ctx context.Context, p confine.Path, target string) error {
	if m.badLink != "" && target == m.badLink {
		return errors.New("no link today")
	}
	return m.Writer.Link(ctx, p, target)
}

// archive is one of the entries given: "dir/", "file=content" or "link => target".
func archive(t testing.TB, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e, Mode: 0o755, Typeflag: tar.TypeDir, Format: tar.FormatPAX}
		name, content, isFile := strings.Cut(e, "=")
		if from, to, isLink := strings.Cut(e, " => "); isLink {
			h.Name, h.Linkname, h.Typeflag, content = from, to, tar.TypeSymlink, ""
		} else if isFile {
			h.Name, h.Size, h.Mode, h.Typeflag = name, int64(len(content)), 0o644, tar.TypeReg
		}
		add(t, w, h, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// one is an archive of one entry as tar writes it.
func one(t testing.TB, h *tar.Header, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h.Size = int64(len(content))
	add(t, w, h, content)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func add(t testing.TB, w *tar.Writer, h *tar.Header, content string) {
	t.Helper()
	if err := w.WriteHeader(h); err != nil {
		t.Fatalf("%q: %v", h.Name, err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatalf("%q: %v", h.Name, err)
	}
}

func refusedAs(t testing.TB, what string, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Errorf("%s: %v instead of %s", what, err, code)
	}
}
