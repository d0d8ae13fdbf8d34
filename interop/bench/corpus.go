package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Corpora. Small is Go's source tree as it is installed. Big is that and the module
// cache, copied until there are bigFiles files, in a git work tree that ignores some
// of them. Log is one large file. Big and log are made once and kept in the cache.
const (
	bigFiles = 130_000
	logBytes = 1_000_000_000
)

// topIgnore lies at the top of big; the modules bring their own.
const topIgnore = `/copy-2/
*.golden
*.s
!*_amd64.s
testdata/**/*.txt
!copy-1/**/testdata/*.txt
`

func (w *workplace) smallTree() (string, error) {
	src, err := goEnv("GOROOT")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Join(src, "src"))
}

func goEnv(name string) (string, error) {
	out, err := exec.Command("go", "env", name).Output()
	return strings.TrimSpace(string(out)), err
}

func (w *workplace) bigTree() (string, error) {
	return w.made("big", func(dir string) error {
		src, err := w.smallTree()
		if err != nil {
			return err
		}
		mod, err := goEnv("GOMODCACHE")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(topIgnore), 0o644); err != nil {
			return err
		}
		left := bigFiles - 1
		for copies := 1; left > 0; copies++ {
			before := left
			for _, from := range []struct{ name, dir string }{{"src", src}, {"mod", mod}} {
				if err := copyTree(filepath.Join(dir, fmt.Sprint("copy-", copies), from.name), from.dir, &left); err != nil {
					return err
				}
			}
			if left == before {
				return fmt.Errorf("%s and %s are empty", src, mod)
			}
		}
		return nil
	})
}

// logFile is alone in its directory: a server that may read it can read nothing else.
func (w *workplace) logFile() (string, error) {
	dir, err := w.made("log", func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, "log.txt"))
		if err != nil {
			return err
		}
		if err := writeLog(f, logBytes); err != nil {
			return err
		}
		return f.Close()
	})
	return filepath.Join(dir, "log.txt"), err
}

// made gives the place of a corpus and makes it unless it is there. What is
// unfinished has another name.
func (w *workplace) made(name string, make func(string) error) (string, error) {
	place := filepath.Join(w.cache, name)
	if _, err := os.Stat(place); err == nil {
		return place, nil
	}
	fmt.Fprintln(os.Stderr, "bench: making", place)
	draft := place + ".draft"
	if err := os.RemoveAll(draft); err != nil {
		return "", err
	}
	if err := make(draft); err != nil {
		return "", err
	}
	return place, os.Rename(draft, place)
}

// copyTree copies regular files as long as there are some left to copy; the archives
// of the module cache are no sources.
func copyTree(to, from string, left *int) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case *left == 0:
			return filepath.SkipAll
		case d.IsDir() && rel == "cache":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		*left--
		return copyFile(filepath.Join(to, rel), path)
	})
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// writeLog writes at least so many bytes of a log, always the same: every 3000th line
// is an error, every 40th is in Russian, and three lines in a million hold a word that
// is nowhere else.
func writeLog(to io.Writer, size int64) error {
	r := rand.New(rand.NewPCG(1, 2))
	out := bufio.NewWriterSize(to, 1<<20)
	paths := []string{"/api/Orders", "/api/Users", "/static/app", "/files/Upload", "/internal/Hijack"}
	words := strings.Fields("request handled cache warm queue depth connection reused upstream answered retry budget left " +
		"shard checkpoint written acknowledged redistributed authenticated")
	russian := strings.Fields("запрос обработан за отведённое время очередь пуста " +
		"соединение закрыто клиентом")
	levels := []string{"INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN"}
	written := int64(0)
	for n := 0; written < size; n++ {
		level := levels[r.IntN(len(levels))]
		if n%3000 == 2999 {
			level = "ERROR"
		}
		ms := n * 13 % 86_400_000
		k, err := fmt.Fprintf(out, "2026-03-%02dT%02d:%02d:%02d.%03dZ [%s] worker-%d user=%d path=%s method=GET status=200 dur=%dms bytes=%d ",
			1+n*13/86_400_000%28, ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000, level,
			r.IntN(64), r.IntN(10_000_000), paths[r.IntN(len(paths))], r.IntN(5000), r.IntN(1<<20))
		if err != nil {
			return err
		}
		written += int64(k)
		said := words
		if r.IntN(40) == 0 {
			said = russian
		}
		for range 7 {
			k, _ = out.WriteString(said[r.IntN(len(said))])
			written += int64(k) + 1
			out.WriteByte(' ')
		}
		k, _ = out.WriteString(tail(r.IntN(1_000_000)))
		written += int64(k)
	}
	return out.Flush()
}

// tail ends a line: rarely with something to be found.
func tail(n int) string {
	switch {
	case n < 3:
		return "marker ZZQ_RARE\n"
	case n < 30:
		return fmt.Sprintf("order %03d-KXQZ-%03d\n", n*31%1000, n*17%1000)
	}
	return "\n"
}
