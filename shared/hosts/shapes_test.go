package hosts_test

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/multiollama/mcp-server/shared/hosts"
)

var update = flag.Bool("update", false, "rewrite what the files become")

// ada's is the entry that every test puts in.
var adas = hosts.Entry{Name: "file-read", Program: "file-read", Command: "/home/ada/bin/file-read", Args: []string{"--allow-path", "/home/ada/project"}}

func host(t testing.TB, name string) hosts.Host {
	t.Helper()
	for _, h := range hosts.All() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("there is no host %s", name)
	return hosts.Host{}
}

func parse(t testing.TB, h hosts.Host, file string, text []byte) hosts.Document {
	t.Helper()
	d, err := h.Parse(file, text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", file, err, text)
	}
	return d
}

// put is the text with ada's entry.
func put(t testing.TB, h hosts.Host, file string, text []byte) []byte {
	t.Helper()
	out, err := parse(t, h, file, text).Put(adas, false)
	if err != nil {
		t.Fatalf("%s: %v\n%s", file, err, text)
	}
	return out
}

// take is the text without it.
func take(t testing.TB, h hosts.Host, file string, text []byte) []byte {
	t.Helper()
	out, there, err := parse(t, h, file, text).Take(adas.Name, adas.Program, adas.Command)
	if err != nil || !there {
		t.Fatalf("%s: %v, there: %v\n%s", file, err, there, text)
	}
	return out
}

// session is one file of testdata: what a host's file is before, with the entry, and
// after that was taken out again, where that is not what it was before.
type story struct {
	host                string
	file                string
	before, with, after []byte
}

func stories(t *testing.T) map[string]story {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no stories", err)
	}
	all := map[string]story{}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(a.Comment), "\n")
		s := story{host: strings.TrimPrefix(first, "host: ")}
		for _, f := range a.Files {
			switch name, ext, _ := strings.Cut(f.Name, "."); name {
			case "before":
				s.before, s.file = f.Data, "config."+ext
			case "with":
				s.with = f.Data
			case "after":
				s.after = f.Data
			}
		}
		if s.after == nil {
			s.after = s.before
		}
		all[path] = s
	}
	return all
}

func TestTheEntryGoesInAndOutOfEveryHostsFile(t *testing.T) {
	seen := map[string]bool{"jetbrains": true} // has no file
	for path, s := range stories(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			seen[s.host] = true
			h := host(t, s.host)
			with := put(t, h, s.file, s.before)
			after := take(t, h, s.file, with)
			if *update {
				rewrite(t, path, s, with, after)
				return
			}
			if diff := cmp.Diff(string(s.with), string(with)); diff != "" {
				t.Errorf("with the entry (- wanted, + got; -update rewrites it):\n%s", diff)
			}
			if diff := cmp.Diff(string(s.after), string(after)); diff != "" {
				t.Errorf("taken out again (- wanted, + got):\n%s", diff)
			}
			if again := put(t, h, s.file, with); !bytes.Equal(again, with) {
				t.Errorf("a second time changed it:\n%s", again)
			}
		})
	}
	for _, name := range hosts.Names() {
		if !seen[name] {
			t.Errorf("%s has no story", name)
		}
	}
}

func rewrite(t *testing.T, path string, s story, with, after []byte) {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ext := filepath.Ext(s.file)
	a.Files = append(a.Files[:1], txtar.File{Name: "with" + ext, Data: with})
	if !bytes.Equal(after, s.before) {
		a.Files = append(a.Files, txtar.File{Name: "after" + ext, Data: after})
	}
	if err := writeFile(path, txtar.Format(a)); err != nil {
		t.Fatal(err)
	}
}
